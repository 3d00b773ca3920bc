// kb-box: what happens to a process on its way into the box of an agent (src/agents/box.h).
//
//   kb-box hold JSON         makes the agent's namespaces and its bounded file systems, says "ready", and waits to be
//                            killed. Whoever holds descriptors of the namespaces keeps them.
//   kb-box enter JSON COMMAND...
//                            goes there, bounded, with low priority and a keyring of its own, and is
//                            bubblewrap, which runs COMMAND in a box.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "runner/namespaces.h"
#include "runner/syscall_filter.h"
#include "wire/agent_box.h"

namespace kb::runner {
namespace {

constexpr int kNotStarted = 127;
constexpr unsigned kCloneTree = 1;              // OPEN_TREE_CLONE
constexpr unsigned kMoveEmptyPath = 4;          // MOVE_MOUNT_F_EMPTY_PATH
constexpr int kOfProcess = 1, kIdle = 3 << 13;  // IOPRIO_WHO_PROCESS, IOPRIO_CLASS_IDLE

// Puts what is at `from` below `to` as well, for it may lie where only we can come to.
Status Show(const std::string& from, const std::string& to) {
  const Fd tree(
      static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, from.c_str(), kCloneTree | AT_RECURSIVE | O_CLOEXEC)));
  if (!tree.valid()) return Errno(from.c_str());
  struct stat info {};
  if (fstat(tree.get(), &info) != 0) return Errno(from.c_str());
  if (S_ISDIR(info.st_mode)) {
    mkdir(to.c_str(), 0755);
  } else {
    const Fd file(open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444));
  }
  const bool moved = syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, to.c_str(), kMoveEmptyPath) == 0;
  return moved ? Status() : Errno(to.c_str());
}

Status ShowAll(const wire::AgentHold& hold) {
  const uint64_t files = 16 + 2 * hold.shown.size();
  KB_RETURN_IF_ERROR(MountMemory(hold.where.c_str(), 1 << 20, files));
  for (size_t i = 0; i < hold.shown.size(); ++i) {
    KB_RETURN_IF_ERROR(Show(hold.shown[i], fmt::format("{}/{}", hold.where, i)));
  }
  return {};
}

// The agent's user and mount namespaces. What root alone comes to is shown before root has become somebody else.
Status Hold(const wire::AgentHold& hold) {
  if (hold.user != 0) {
    if (unshare(CLONE_NEWNS) != 0 || !MakeMountsPrivate()) return Errno("a mount namespace");
    KB_RETURN_IF_ERROR(ShowAll(hold));
    KB_RETURN_IF_ERROR(BecomeUser(hold.user));
    prctl(PR_SET_DUMPABLE, 1);  // our maps in /proc are the user's again
  }
  KB_RETURN_IF_ERROR(Unshare(0));
  if (!MakeMountsPrivate()) return Errno("making mounts private");
  if (hold.user == 0) KB_RETURN_IF_ERROR(ShowAll(hold));
  for (const auto& [name, bytes, files] : hold.file_systems) {
    const std::string path = hold.where + "/" + name;
    if (mkdir(path.c_str(), 0755) != 0) return Errno(path.c_str());
    KB_RETURN_IF_ERROR(MountMemory(path.c_str(), bytes, files));
  }
  for (const std::string& folder : hold.folders) {
    const std::string path = hold.where + "/" + folder;
    if (mkdir(path.c_str(), 0755) != 0) return Errno(path.c_str());
  }
  return {};
}

Status Enter(const wire::AgentEntry& entry) {
  for (const int group : entry.join) {
    const Fd door(group);  // and a way out of the group, so nobody after this may have it
    if (write(door.get(), "0", 1) != 1) return Errno("joining a control group");
  }
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS) return Errno("a keyring");
  syscall(SYS_ioprio_set, kOfProcess, 0, kIdle);  // not every kernel has such priorities
  if (entry.user != 0) KB_RETURN_IF_ERROR(BecomeUser(entry.user));
  for (const int space : {entry.user_namespace, entry.mount_namespace}) {
    const Fd there(space);
    if (setns(there.get(), 0) != 0) return Errno("entering the agent's namespaces");
  }
  const rlim_t memory = entry.memory_bytes;
  const struct {
    __rlimit_resource resource;
    rlim_t limit;
  } limits[] = {{RLIMIT_CORE, 0},
                {RLIMIT_DATA, memory},
                {RLIMIT_AS, entry.gpu ? RLIM_INFINITY : memory + kMostMapped},
                {RLIMIT_FSIZE, entry.file_bytes},
                {RLIMIT_NOFILE, entry.open_files},
                {RLIMIT_NPROC, entry.processes},  // counted by user namespace, so of this agent's alone
                {RLIMIT_CPU, entry.cpu_seconds},
                {RLIMIT_MSGQUEUE, 0}};
  for (const auto& [resource, limit] : limits) KB_RETURN_IF_ERROR(Limit(resource, limit));
  return {};
}

int Stop(const std::string& why) {
  std::fprintf(stderr, "kb-box: %s\n", why.c_str());
  return kNotStarted;
}

int BeBubblewrap(const wire::AgentEntry& entry, char** command) {
  const int filter = memfd_create("filter", 0);
  const Status written = filter < 0 ? Errno("a memory file") : WriteAgentFilter(entry.cores_are_set, filter);
  if (!written) return Stop(written.error().message);
  lseek(filter, 0, SEEK_SET);
  std::vector<std::string> words = {entry.bubblewrap,       "--args", std::to_string(entry.arguments), "--seccomp",
                                    std::to_string(filter), "--"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  for (; *command != nullptr; ++command) argv.push_back(*command);
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return Stop(fmt::format("cannot start {}: {}", entry.bubblewrap, strerror(errno)));
}

int Main(int argc, char** argv) {
  const std::string_view mode = argc < 3 ? "" : argv[1];
  if (mode == "hold") {
    const Status held = Hold(nlohmann::json::parse(argv[2]).get<wire::AgentHold>());
    if (!held) return Stop(held.error().message);
    std::puts("ready");
    std::fflush(stdout);
    for (;;) pause();
  }
  if (mode != "enter" || argc < 4) return Stop("it is started by kernelbench, not by hand");
  const auto entry = nlohmann::json::parse(argv[2]).get<wire::AgentEntry>();
  if (const Status entered = Enter(entry); !entered) return Stop(entered.error().message);
  return BeBubblewrap(entry, argv + 3);
}

}  // namespace
}  // namespace kb::runner

int main(int argc, char** argv) { return kb::runner::Main(argc, argv); }
