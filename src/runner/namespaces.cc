#include "runner/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/fd.h"

namespace kb::runner {
namespace {

Status WriteProc(const char* path, const std::string& text) {
  Fd fd(open(path, O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return Errno(path);
  return {};
}

}  // namespace

Status Errno(const char* what) { return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", what, strerror(errno))); }

Status Unshare(int more) {
  const std::string uid_map = fmt::format("{} {} 1", getuid(), getuid());
  const std::string gid_map = fmt::format("{} {} 1", getgid(), getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | more) != 0) return Errno("unshare");
  KB_RETURN_IF_ERROR(WriteProc("/proc/self/setgroups", "deny"));
  KB_RETURN_IF_ERROR(WriteProc("/proc/self/uid_map", uid_map));
  return WriteProc("/proc/self/gid_map", gid_map);
}

bool MakeMountsPrivate() { return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0; }

Status MountMemory(const char* path, uint64_t bytes, uint64_t files) {
  // All users may write: who mounts it may become another one.
  const std::string options = fmt::format("size={},nr_inodes={},mode=1777", bytes, files);
  return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0 ? Status() : Errno(path);
}

Status BecomeUser(uid_t user) {
  int death_signal = 0;  // which the kernel forgets when a process changes its user
  prctl(PR_GET_PDEATHSIG, &death_signal);
  if (setgroups(0, nullptr) != 0) return Errno("setgroups");
  if (setresgid(user, user, user) != 0) return Errno("setresgid");
  if (setresuid(user, user, user) != 0) return Errno("setresuid");
  prctl(PR_SET_PDEATHSIG, death_signal);
  return {};
}

Status Limit(__rlimit_resource resource, rlim_t limit) {
  rlimit given{};
  getrlimit(resource, &given);
  const rlimit both{std::min(limit, given.rlim_max), std::min(limit, given.rlim_max)};
  return setrlimit(resource, &both) == 0 ? Status() : Errno("setrlimit");
}

}  // namespace kb::runner
