#include "device/process_link.h"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>

#include "base/clock.h"
#include "base/cores.h"
#include "base/random.h"
#include "device/code_watch.h"
#include "device/core_seat.h"
#include "device/memory_ops.h"
#include "device/process_watch.h"
#include "device/wait_watch.h"

namespace kb {
namespace {

constexpr int kDyingMs = 2'000;
constexpr int64_t kLateStopNs = 1'000'000'000;     // stopping takes microseconds
constexpr int64_t kStopTimeoutNs = 5'000'000'000;  // of a runner that goes on running
constexpr int64_t kRunsOnNs = 50'000'000;          // CPU time by which it does so
// A thread that waits for a disk stops only afterwards, and one that waits for a core when it has one. A runner may be
// late by this, in all.
constexpr int64_t kStopPatienceNs = 60'000'000'000;
constexpr int64_t kTimesPatienceNs = 3'000'000;  // they take microseconds, unless the runner is put off its core

// Leaves the core to the other thread on it, which may be the candidate's. Some 50 ns on x86.
void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

uint32_t* FutexWord(std::atomic<uint64_t>* word) { return reinterpret_cast<uint32_t*>(word); }

class ProcessLink : public RunnerLink {
 public:
  ProcessLink(int pid, Fd pidfd, Doorbell* doorbell, std::unique_ptr<SecretReader> secrets, LinkOptions options)
      : pid_(pid),
        pidfd_(std::move(pidfd)),
        doorbell_(doorbell),
        secrets_(std::move(secrets)),
        options_(std::move(options)),
        seat_(pid) {
    prctl(PR_SET_TIMERSLACK, 1000);  // of the thread that judges: short pauses are to be short
    Freeze();
  }

  CallSpan Call(CallKind kind, uint64_t argument, int64_t timeout_ns, bool clocked, const CallInputs& inputs) override {
    if (clocked) secrets_->Draw();
    const uint64_t before = Tell(kind, argument);
    KB_CHECK((inputs.late.empty() || options_.hold) && (inputs.early.empty() || options_.watch));
    const bool comes_late = !inputs.late.empty() && inputs.early.empty();
    CallSpan span;
    if (!Slept(&span)) return span;
    WaitWatch waits(pid_, cores_);
    waits.Begin();
    std::optional<RealTime> prompt;  // the thread that sleeps until the call is over, and no other
    if (!options_.watch) prompt.emplace();
    const bool wakes_before = options_.watch && comes_late;
    if (options_.watch) {
      FlushCore();  // the core that is lent: neither side is to find itself there (session.cc)
      if (wakes_before) Wake();
      span.gap_ns = options_.watch(inputs.early);
      if (!wakes_before && !Slept(&span)) return span;
      if (options_.hold) options_.hold(inputs.late);
    }
    const int64_t start = NowNs();
    Ring();
    if (!wakes_before) Wake();
    span.end = options_.watch ? SpinUntil(before, start + timeout_ns) : Await(before, start + timeout_ns);
    if (clocked && span.end == SpanEnd::kDone && options_.calling.locate && !options_.calling.locate(secrets_.get())) {
      span.end = SpanEnd::kMisplaced;
    }
    if (clocked && span.end == SpanEnd::kDone) secrets_->Read();
    span.ns = NowNs() - start;
    prompt.reset();
    waits.End();  // threads that wake up to be stopped wait for cores: that is no load
    if (clocked && options_.watch && span.end == SpanEnd::kDone) TakeTimes(&span);
    if (!Freeze()) span.end = SpanEnd::kNotStopped;
    if (clocked && options_.taken && span.end == SpanEnd::kDone) {
      const int64_t taken_ns = options_.taken();
      span.gap_ns = std::max(span.gap_ns, taken_ns);
      if (taken_ns > 0 && comes_late) span.end = SpanEnd::kTooEarly;
    }
    seat_.Return();
    span.waits = waits.Read();
    return span;
  }

  bool SecretsHold() override { return secrets_->Hold(); }

  ObservedCall ObserveForward(uint64_t argument, int64_t timeout_ns, int64_t interval_ns) override {
    const uint64_t before = Tell(CallKind::kForward, argument);
    const PromptWaking prompt(pid_);
    ObservedCall call;
    CodeWatch watch(pid_);
    std::mt19937_64 random(RandomBits());
    const int64_t deadline = NowNs() + timeout_ns;
    const auto drawn = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
    for (int64_t pause = drawn(interval_ns);; pause = interval_ns / 2 + drawn(interval_ns)) {
      const int64_t start = NowNs();
      if (call.stops == 0) Ring();
      Signal(SIGCONT);
      call.end = Await(before, std::min(deadline, start + pause));
      call.ran_ns += NowNs() - start;
      if (call.end != SpanEnd::kTimedOut || NowNs() >= deadline) break;
      if (!Freeze()) break;
      ++call.stops;
      if (doorbell_->done.load() != before) continue;  // it ended just before it was stopped
      const Status sampled = watch.Sample(&call.samples);
      if (!sampled) call.refused = sampled.error().message;
    }
    Freeze();
    return call;
  }

 private:
  // Puts down what the next ring of the bell means; returns what `done` holds until the runner answers.
  uint64_t Tell(CallKind kind, uint64_t argument) {
    uint64_t go = RandomBits();
    while (static_cast<uint32_t>(go) == static_cast<uint32_t>(go_) || go == 0) go = RandomBits();
    go_ = go;
    doorbell_->kind.store(static_cast<uint32_t>(kind));
    doorbell_->argument.store(argument);
    return doorbell_->done.load();
  }

  void Wake() {
    Signal(SIGCONT);
    if (options_.watch) seat_.Lend();
  }

  void Ring() {
    doorbell_->go.store(go_, std::memory_order_release);
    syscall(SYS_futex, FutexWord(&doorbell_->go), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  void Signal(int number) { syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0); }

  bool Died(int patience_ms = 0) {
    pollfd ended{pidfd_.get(), POLLIN, 0};
    return poll(&ended, 1, patience_ms) == 1;
  }

  static void Pause() {
    const timespec moment{0, 20'000};
    nanosleep(&moment, nullptr);
  }

  // Stops every thread. False if some could not be stopped; then the runner is killed.
  bool Freeze() {
    if (!options_.calling.freezes) return true;
    const int64_t start = NowNs();
    std::optional<int64_t> ran_ns;  // once it should have stopped
    // Again and again: something in the runner may wake it up.
    for (Signal(SIGSTOP); !Died() && !AllThreadsStopped(pid_); Signal(SIGSTOP)) {
      const int64_t waited = NowNs() - start;
      if (waited > kLateStopNs && !ran_ns) ran_ns = RunTimeNs(pid_);
      const bool runs_on = waited > kStopTimeoutNs && RunTimeNs(pid_) > *ran_ns + kRunsOnNs;
      if (runs_on || waited > stop_patience_ns_) {
        Signal(SIGKILL);
        return false;
      }
      Pause();
    }
    if (ran_ns) stop_patience_ns_ -= NowNs() - start;
    // A thread is charged for its last moments only when it has left its core.
    for (int64_t ran = -1; ran != frozen_ran_ns_;) {
      ran = frozen_ran_ns_;
      Pause();
      frozen_ran_ns_ = RunTimeNs(pid_);
    }
    return true;
  }

  // Whether the runner has slept since Freeze(): nothing but a signal of ours may have woken it. A thread that was put
  // off its core in the middle of being stopped, on a busy machine, looks the same: so one time proves nothing.
  SpanEnd StateSinceFreeze() {
    if (!options_.calling.freezes) return SpanEnd::kDone;
    if (Died()) return SpanEnd::kDied;
    // One that was killed is not stopped any more and takes a while to be gone.
    if (!AllThreadsStopped(pid_)) return Died(kDyingMs) ? SpanEnd::kDied : SpanEnd::kRanFrozen;
    return RunTimeNs(pid_) == frozen_ran_ns_ ? SpanEnd::kDone : SpanEnd::kRanFrozen;
  }

  // False if the call cannot begin; then `span` says why, and the next attempt can.
  bool Slept(CallSpan* span) {
    span->end = StateSinceFreeze();
    if (span->end == SpanEnd::kRanFrozen) Freeze();
    return span->end == SpanEnd::kDone;
  }

  // What the bell says; nothing while it is silent.
  std::optional<SpanEnd> Answered(uint64_t before) const {
    const uint64_t done = doorbell_->done.load(std::memory_order_acquire);
    if (done == go_) return SpanEnd::kDone;
    if (done != before) return SpanEnd::kMalformed;
    return std::nullopt;
  }

  // The bell is looked at once more: what a runner wrote before it died counts, however late that is noticed.
  std::optional<SpanEnd> DiedOrAnswered(uint64_t before) {
    if (!Died()) return std::nullopt;
    return Answered(before).value_or(SpanEnd::kDied);
  }

  SpanEnd SpinUntil(uint64_t before, int64_t deadline) {
    constexpr int kLooks = 1000;  // between two looks at the clock and at the process
    for (;;) {
      for (int i = 0; i < kLooks; ++i) {
        if (const auto end = Answered(before)) return *end;
        SpinPause();
      }
      if (NowNs() > deadline) return SpanEnd::kTimedOut;
      if (const auto end = DiedOrAnswered(before)) return *end;
    }
  }

  // What the runner adds once it has answered. Who adds nothing is judged by our clock alone.
  void TakeTimes(CallSpan* span) const {
    const int64_t deadline = NowNs() + kTimesPatienceNs;
    while (doorbell_->timed.load(std::memory_order_acquire) != go_) {
      if (NowNs() > deadline) return;
      SpinPause();
    }
    span->elapsed_ns = doorbell_->elapsed_ns.load();
    span->launched_ns = doorbell_->launched_ns.load();
  }

  SpanEnd Await(uint64_t before, int64_t deadline) {
    for (;;) {
      if (const auto end = Answered(before)) return *end;
      const int64_t left = deadline - NowNs();
      if (left <= 0) return SpanEnd::kTimedOut;
      const int64_t slice = std::min<int64_t>(left, 20'000'000);  // how late a death is noticed at worst
      const timespec timeout{0, static_cast<long>(slice)};
      syscall(SYS_futex, FutexWord(&doorbell_->done), FUTEX_WAIT, static_cast<uint32_t>(before), &timeout, nullptr, 0);
      if (const auto end = DiedOrAnswered(before)) return *end;
    }
  }

  int pid_;
  Fd pidfd_;
  Doorbell* doorbell_;
  std::unique_ptr<SecretReader> secrets_;
  LinkOptions options_;
  CoreSeat seat_;
  const int cores_ = CoreCount();
  int64_t stop_patience_ns_ = kStopPatienceNs;
  int64_t frozen_ran_ns_ = 0;  // CPU time of all threads when they were stopped
  uint64_t go_ = 0;
};

}  // namespace

std::unique_ptr<RunnerLink> MakeProcessLink(int pid, Fd pidfd, Doorbell* doorbell,
                                            std::unique_ptr<SecretReader> secrets, LinkOptions options) {
  return std::make_unique<ProcessLink>(pid, std::move(pidfd), doorbell, std::move(secrets), std::move(options));
}

}  // namespace kb
