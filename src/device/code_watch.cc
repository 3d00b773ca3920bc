#include "device/code_watch.h"

#include <elf.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "device/process_watch.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Where a traced thread is; nothing if it is in a system call, or on a processor that this does not know.
std::optional<uint64_t> UserAddress([[maybe_unused]] int tid) {
#if defined(__x86_64__)
  user_regs_struct registers{};
  iovec part{&registers, sizeof registers};
  if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &part) != 0) return std::nullopt;
  if (static_cast<int64_t>(registers.orig_rax) >= 0) return std::nullopt;
  return registers.rip;
#elif defined(__aarch64__)
  int call = -1;
  iovec part{&call, sizeof call};
  if (ptrace(PTRACE_GETREGSET, tid, NT_ARM_SYSTEM_CALL, &part) != 0 || call >= 0) return std::nullopt;
  user_regs_struct registers{};
  part = {&registers, sizeof registers};
  if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &part) != 0) return std::nullopt;
  return registers.pc;
#else
  return std::nullopt;
#endif
}

bool SetScheduler(int tid, const SchedulerSettings& settings) {
  return syscall(SYS_sched_setattr, tid, &settings, 0) == 0;
}

int64_t RunTimeOf(int tid, const std::map<int, CoreTimes>& run_ns) {
  const auto found = run_ns.find(tid);
  return found == run_ns.end() ? 0 : found->second.ran_ns;
}

std::vector<int> ThreadsOf(int pid) {
  std::vector<int> threads;
  std::error_code ended;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/task", pid), ended)) {
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return threads;
}

}  // namespace

RealTime::RealTime() {
  syscall(SYS_sched_getattr, 0, &before_, sizeof before_, 0);
  SchedulerSettings now;
  now.policy = SCHED_FIFO;
  now.priority = 1;
  granted_ = before_.policy == SCHED_OTHER && SetScheduler(0, now);
}

RealTime::~RealTime() { SetScheduler(0, before_); }

PromptWaking::PromptWaking(int pid) {
  SchedulerSettings now = real_time_.before();
  if (real_time_.granted() || now.policy != SCHED_OTHER) return;
  now.runtime = 100'000;  // nanoseconds, the shortest
  SetScheduler(0, now);
  for (const int tid : ThreadsOf(pid)) SetScheduler(tid, now);
  // Whoever has just used more than its share is not let in early, and this thread has copied inputs.
  const timespec rest{0, 2'000'000};
  nanosleep(&rest, nullptr);
}

Result<std::map<int, uint64_t>> ProgramCounters(int pid) {
  std::map<int, uint64_t> found;
  for (const int tid : ThreadsOf(pid)) {
    // A thread that is already stopped goes over into a traced stop within this call, and back when let go.
    if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
      if (errno == ESRCH) continue;  // it has ended
      return Fail(ErrorCode::kUnavailable, fmt::format("this machine refuses ptrace: {}", strerror(errno)));
    }
    if (const auto address = UserAddress(tid)) found[tid] = *address;
    ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
  }
  return found;
}

CodeWatch::CodeWatch(int pid) : pid_(pid), run_ns_(CoreTimesOf(pid)) {}

Status CodeWatch::ReadMaps() {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(fmt::format("/proc/{}/maps", pid_)));
  mappings_ = ParseMaps(text);
  return {};
}

Status CodeWatch::Sample(std::vector<CodeSample>* samples) {
  const std::map<int, CoreTimes> before = std::exchange(run_ns_, CoreTimesOf(pid_));
  KB_ASSIGN_OR_RETURN(const auto addresses, ProgramCounters(pid_));
  ++stop_;
  for (const auto& [tid, address] : addresses) {
    const int64_t ran_ns = RunTimeOf(tid, run_ns_) - RunTimeOf(tid, before);
    if (ran_ns <= 0) continue;
    const Mapping* mapping = FindMapping(mappings_, address);
    if (mapping == nullptr) {
      KB_RETURN_IF_ERROR(ReadMaps());
      mapping = FindMapping(mappings_, address);
    }
    if (mapping != nullptr) samples->push_back({stop_, ran_ns, mapping->path});
  }
  return {};
}

}  // namespace kb
