#include "runner/mailbox.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/cores.h"

namespace kb::runner {
namespace {

// The low half of a 64-bit word is the futex: little endian.
uint32_t* FutexWord(std::atomic<uint64_t>* word) { return reinterpret_cast<uint32_t*>(word); }

}  // namespace

Command Mailbox::Wait() {
  constexpr int64_t kSpinLoads = int64_t{1} << 30;  // some seconds: a stopped process counts none
  for (int64_t loads = spins_ ? 0 : kSpinLoads;; ++loads) {
    const uint64_t go = doorbell_->go.load(std::memory_order_acquire);
    if (go == seen_ && loads < kSpinLoads) continue;
    if (go != seen_) {
      seen_ = go;
      if (!spins_) GoToFirstCore();
      return {static_cast<CallKind>(doorbell_->kind.load()), doorbell_->argument.load()};
    }
    syscall(SYS_futex, FutexWord(&doorbell_->go), FUTEX_WAIT, static_cast<uint32_t>(go), nullptr, nullptr, 0);
  }
}

void Mailbox::Write(const Report& report) {
  const std::string bytes = EncodeReport(report);
  std::memcpy(doorbell_->report, bytes.data(), bytes.size());
  doorbell_->report_size.store(static_cast<uint32_t>(bytes.size()));
}

void Mailbox::Answer() {
  doorbell_->done.store(seen_, std::memory_order_release);
  syscall(SYS_futex, FutexWord(&doorbell_->done), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Mailbox::AddTimes(uint64_t elapsed_ns, uint64_t launched_ns) {
  doorbell_->elapsed_ns.store(elapsed_ns);
  doorbell_->launched_ns.store(launched_ns);
  doorbell_->timed.store(seen_, std::memory_order_release);
}

}  // namespace kb::runner
