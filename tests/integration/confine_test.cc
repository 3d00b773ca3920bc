// What a confined runner may not do really fails, and what honest kernels need still works.

#include "runner/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace kb::runner {
namespace {

// Runs `probe` confined in a child; its exit code, or 128 + signal.
int Confined(const std::function<int()>& probe, uint64_t memory = uint64_t{4} << 30) {
  const pid_t child = fork();
  if (child == 0) {
    if (!Confine({memory, 1 << 20})) _exit(100);
    _exit(probe());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// 0 if the call failed with EPERM.
int Refused(long result) { return result == -1 && errno == EPERM ? 0 : 1; }

struct Case {
  const char* name;
  std::function<int()> probe;
};

TEST(Confine, ForbiddenCallsFail) {
  const pid_t parent = getpid();
  const Case cases[] = {
      {"fork", [] { return Refused(fork()); }},
      {"exec", [] { return Refused(execl("/bin/true", "true", nullptr)); }},
      {"kill the parent", [=] { return Refused(kill(parent, SIGTERM)); }},
      {"kill everyone", [] { return Refused(kill(-1, SIGTERM)); }},
      {"tgkill", [=] { return Refused(syscall(SYS_tgkill, parent, parent, SIGTERM)); }},
      {"pidfd_open", [=] { return Refused(syscall(SYS_pidfd_open, parent, 0)); }},
      {"ptrace", [=] { return Refused(ptrace(PTRACE_ATTACH, parent, nullptr, nullptr)); }},
      {"process_vm_readv",
       [=] {
         char byte;
         iovec here{&byte, 1}, there{&byte, 1};
         return Refused(process_vm_readv(parent, &here, 1, &there, 1, 0));
       }},
      {"unshare", [] { return Refused(unshare(CLONE_NEWUSER)); }},
      {"io_uring", [] { return Refused(syscall(SYS_io_uring_setup, 1, nullptr)); }},
      {"bpf", [] { return Refused(syscall(SYS_bpf, 0, nullptr, 0)); }},
      {"perf_event_open",
       [] {
         perf_event_attr attributes{};
         attributes.size = sizeof attributes;
         return Refused(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
       }},
      {"nice", [=] { return Refused(setpriority(PRIO_PROCESS, 0, 5)); }},
      {"clone3 is not there", [] { return syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS ? 0 : 1; }},
  };
  for (const Case& each : cases) EXPECT_EQ(Confined(each.probe), 0) << each.name;
}

TEST(Confine, ThreadsAndAbortStillWork) {
  EXPECT_EQ(Confined([] {
              int seen = 0;
              std::thread([&] { seen = 1; }).join();
              return seen - 1;
            }),
            0);
  EXPECT_EQ(Confined([]() -> int { abort(); }), 128 + SIGABRT);
}

TEST(Confine, MemoryAndFilesAreBounded) {
  EXPECT_EQ(Confined(
                [] {
                  void* big = malloc(size_t{2} << 30);
                  return big == nullptr ? 0 : 1;
                },
                uint64_t{1} << 30),
            0);
  EXPECT_EQ(Confined([] {
              signal(SIGXFSZ, SIG_IGN);
              const int fd = static_cast<int>(syscall(SYS_memfd_create, "x", 0));
              return pwrite(fd, "x", 1, 2 << 20) == -1 && errno == EFBIG ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace kb::runner
