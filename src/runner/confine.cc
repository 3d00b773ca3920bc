#include "runner/confine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "runner/landlock.h"
#include "runner/namespaces.h"
#include "runner/syscall_filter.h"

namespace kb::runner {
namespace {

// Of a private /tmp: the kernel tears down a million of them for seconds after their process has ended.
constexpr int kMostFiles = 16384;
constexpr rlim_t kMostDescriptors = 1024;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kReservesTerabytes = true;
#elif defined(__has_feature)
constexpr bool kReservesTerabytes = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kReservesTerabytes = false;
#endif
constexpr unsigned kCloneTree = 1;      // OPEN_TREE_CLONE
constexpr unsigned kMoveEmptyPath = 4;  // MOVE_MOUNT_F_EMPTY_PATH
constexpr unsigned long kReadOnly = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
// What a runner may know of /proc: which processors there are.
constexpr const char* kProcessors = "/proc/cpuinfo\n";

Status DropCapabilities() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    prctl(PR_CAPBSET_DROP, capability);  // refused without CAP_SETPCAP; then there is nothing to drop either
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) return Errno("capset");
  return {};
}

Status SetLimits(const Confinement& limits) {
  const bool reserves = kReservesTerabytes || limits.gpu;  // as CUDA does
  const struct {
    __rlimit_resource resource;
    rlim_t limit;
  } rlimits[] = {{RLIMIT_CORE, 0},
                 {RLIMIT_DATA, limits.memory_bytes},
                 {RLIMIT_AS, reserves ? RLIM_INFINITY : limits.memory_bytes + kMostMapped},
                 {RLIMIT_FSIZE, limits.file_bytes},
                 {RLIMIT_MSGQUEUE, 0},
                 {RLIMIT_NOFILE, kMostDescriptors}};
  for (const auto& [resource, limit] : rlimits) KB_RETURN_IF_ERROR(Limit(resource, limit));
  return {};
}

// Runs `mount`, which hides what is below a directory, and puts back what must stay visible: the paths of `keep`, one a
// line.
Status Hide(const std::string& keep, const std::function<Status()>& mount) {
  std::vector<std::pair<std::string, Fd>> kept;
  std::istringstream lines(keep);
  for (std::string path; std::getline(lines, path);) {
    Fd tree(static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, path.c_str(), kCloneTree | AT_RECURSIVE | O_CLOEXEC)));
    if (!tree.valid()) return Errno(path.c_str());
    kept.emplace_back(path, std::move(tree));
  }
  KB_RETURN_IF_ERROR(mount());
  for (const auto& [path, tree] : kept) {
    struct stat info {};
    std::error_code error;
    if (fstat(tree.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
      std::filesystem::create_directories(path, error);
    } else {
      const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444));
    }
    if (syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, path.c_str(), kMoveEmptyPath) != 0)
      return Errno(path.c_str());
  }
  return {};
}

// A /tmp and a /dev/shm of this mount namespace's own.
Status MountScratch(uint64_t bytes, const std::string& keep) {
  KB_RETURN_IF_ERROR(Hide(keep, [&] { return MountMemory("/tmp", bytes, kMostFiles); }));
  KB_RETURN_IF_ERROR(MountMemory("/dev/shm", bytes, kMostFiles));
  return chdir("/tmp") == 0 ? Status() : Errno("chdir /tmp");
}

}  // namespace

Status EnterNamespaces(uint64_t tmp_bytes, const std::string& keep, const Without& without) {
  int namespaces = 0;
  if (!without.contains("pid-namespace")) namespaces |= CLONE_NEWPID;
  if (!without.contains("network-namespace")) namespaces |= CLONE_NEWNET;
  if (!without.contains("ipc-namespace")) namespaces |= CLONE_NEWIPC;
  if (!without.contains("uts-namespace")) namespaces |= CLONE_NEWUTS;
  KB_RETURN_IF_ERROR(Unshare(namespaces));
  if (without.contains("mount-namespace")) return {};
  if (!MakeMountsPrivate()) return Errno("making mounts private");
  // All runners share the sandbox's /dev; what one leaves in its shared memory is not for the next.
  KB_RETURN_IF_ERROR(MountScratch(tmp_bytes, keep));
  // Without a PID namespace of its own this runner has a GPU, whose driver names its threads through /proc. What there
  // belongs to others stays closed: they are in another user namespace.
  if (without.contains("pid-namespace")) return {};
  KB_RETURN_IF_ERROR(Hide(kProcessors, [] {
    const bool mounted = mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") == 0;
    return mounted ? Status() : Errno("hiding /proc");
  }));
  return mount(nullptr, "/proc", nullptr, kReadOnly, nullptr) == 0 ? Status() : Errno("/proc read-only");
}

Status BoundScratch(uint64_t tmp_bytes, const std::string& keep, bool proc_read_only) {
  if (!MakeMountsPrivate()) {  // the namespace is another user's
    KB_RETURN_IF_ERROR(Unshare(0));
    if (!MakeMountsPrivate()) return Errno("making mounts private");
  }
  KB_RETURN_IF_ERROR(MountScratch(tmp_bytes, keep));
  if (proc_read_only && mount(nullptr, "/proc", nullptr, kReadOnly, nullptr) != 0) return Errno("/proc read-only");
  return {};
}

Status Confine(const Confinement& limits) {
  const auto with = [&](const char* barrier) { return !limits.without.contains(barrier); };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Errno("no_new_privs");
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return Errno("dumpable");
  if (chdir(limits.scratch.c_str()) != 0) return Errno(limits.scratch.c_str());
  for (const char* variable : {"HOME", "TMPDIR"}) setenv(variable, limits.scratch.c_str(), 1);
  if (with("capabilities")) KB_RETURN_IF_ERROR(DropCapabilities());
  if (with("landlock")) KB_RETURN_IF_ERROR(RestrictByLandlock(limits.readable, limits.writable, limits.judges));
  if (with("seccomp")) KB_RETURN_IF_ERROR(InstallSyscallFilter(limits));
  return with("rlimits") ? SetLimits(limits) : Status();
}

void Supervise(int hello_fd, int status_fd, const std::function<int()>& work) {
  // The supervisor is neither frozen nor filtered and holds the shared memory: through /proc/PID/mem the candidate
  // could make it its own.
  prctl(PR_SET_DUMPABLE, 0);
  const pid_t worker = fork();
  if (worker == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The kernel translates the sender's process id into the receiver's namespace.
    const bool told = send(hello_fd, "R", 1, MSG_NOSIGNAL) == 1;
    close(hello_fd);
    close(status_fd);
    _exit(told ? work() : 125);
  }
  close(hello_fd);
  int status = 126 << 8;
  if (worker > 0) {
    while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
  }
  [[maybe_unused]] const ssize_t put = write(status_fd, &status, sizeof status);
  _exit(0);
}

}  // namespace kb::runner
