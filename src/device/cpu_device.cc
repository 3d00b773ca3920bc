// The CPU as a device.
//
// Theory of operation. A runner is stopped (SIGSTOP, every thread seen to be stopped) at all times except inside a
// call. Inputs are put in place while it is stopped, and the clock starts before it is woken, so it cannot begin early;
// it is stopped again as soon as it says done, and the secret positions read before that must still hold afterwards, so
// it cannot end late. Neither side spins: the judge sleeps on a futex while the candidate runs, for on a small machine
// a spinning judge would take one of the cores it is timing. What waking costs is in the offset.

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "base/clock.h"
#include "base/random.h"
#include "device/code_watch.h"
#include "device/cpu_secret_reader.h"
#include "device/device.h"
#include "device/memory_ops.h"
#include "device/process_watch.h"
#include "device/random_fill.h"
#include "device/thread_pool.h"

namespace kb {
namespace {

constexpr int64_t kStopTimeoutNs = 5'000'000'000;  // a thread that waits for a disk stops only afterwards

uint32_t* FutexWord(std::atomic<uint64_t>* word) { return reinterpret_cast<uint32_t*>(word); }

class CpuRunnerLink : public RunnerLink {
 public:
  CpuRunnerLink(int pid, Fd pidfd, Doorbell* doorbell, std::span<const OutputItem> outputs, bool freezes)
      : pid_(pid), pidfd_(std::move(pidfd)), doorbell_(doorbell), secrets_(outputs), freezes_(freezes) {
    Freeze();
  }

  Span Call(CallKind kind, uint64_t argument, int64_t timeout_ns, bool clocked) override {
    if (clocked) secrets_.Draw();
    const uint64_t before = Tell(kind, argument);
    Span span;
    span.end = StateSinceFreeze();
    if (span.end != SpanEnd::kDone) return span;
    const int64_t waited = RunDelayNs(pid_);
    const int64_t start = NowNs();
    Ring();
    span.end = Await(before, start + timeout_ns);
    if (clocked && span.end == SpanEnd::kDone) secrets_.Read();
    span.ns = NowNs() - start;
    if (!Freeze()) span.end = SpanEnd::kNotStopped;
    span.waited_ns = RunDelayNs(pid_) - waited;
    return span;
  }

  bool SecretsHold() override { return secrets_.Hold(); }

  Profile ProfileForward(uint64_t argument, int64_t timeout_ns, int64_t interval_ns) override {
    const uint64_t before = Tell(CallKind::kForward, argument);
    const PromptWaking prompt(pid_);
    Profile profile;
    CodeWatch watch(pid_);
    std::mt19937_64 random(RandomBits());
    const int64_t deadline = NowNs() + timeout_ns;
    const auto drawn = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
    for (int64_t pause = drawn(interval_ns);; pause = interval_ns / 2 + drawn(interval_ns)) {
      const int64_t start = NowNs();
      profile.stops == 0 ? Ring() : Signal(SIGCONT);
      profile.end = Await(before, std::min(deadline, start + pause));
      profile.ran_ns += NowNs() - start;
      if (profile.end != SpanEnd::kTimedOut || NowNs() >= deadline) break;
      if (!Freeze()) break;
      ++profile.stops;
      if (doorbell_->done.load() != before) continue;  // it ended just before it was stopped
      const Status sampled = watch.Sample(profile.ran_ns, &profile.samples);
      if (!sampled) profile.refused = sampled.error().message;
    }
    Freeze();
    return profile;
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

  void Ring() {
    doorbell_->go.store(go_, std::memory_order_release);
    Signal(SIGCONT);
    syscall(SYS_futex, FutexWord(&doorbell_->go), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  void Signal(int number) { syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0); }

  bool Died() {
    pollfd ended{pidfd_.get(), POLLIN, 0};
    return poll(&ended, 1, 0) == 1;
  }

  // Stops every thread. False if some could not be stopped; then the runner is killed.
  bool Freeze() {
    if (!freezes_) return true;
    const int64_t deadline = NowNs() + kStopTimeoutNs;
    const auto pause = [] {
      const timespec moment{0, 20'000};
      nanosleep(&moment, nullptr);
    };
    // Again and again: something in the runner may wake it up.
    for (Signal(SIGSTOP); !Died() && !AllThreadsStopped(pid_); Signal(SIGSTOP)) {
      if (NowNs() > deadline) {
        Signal(SIGKILL);
        return false;
      }
      pause();
    }
    // A thread is charged for its last moments only when it has left its core.
    for (int64_t ran = -1; ran != frozen_ran_ns_;) {
      ran = frozen_ran_ns_;
      pause();
      frozen_ran_ns_ = RunTimeNs(pid_);
    }
    return true;
  }

  // Whether the runner has slept since Freeze(): nothing but a signal of ours may have woken it.
  SpanEnd StateSinceFreeze() {
    if (!freezes_) return SpanEnd::kDone;
    if (Died()) return SpanEnd::kDied;
    const bool slept = AllThreadsStopped(pid_) && RunTimeNs(pid_) == frozen_ran_ns_;
    return slept ? SpanEnd::kDone : Died() ? SpanEnd::kDied : SpanEnd::kRanFrozen;
  }

  SpanEnd Await(uint64_t before, int64_t deadline) {
    for (;;) {
      const uint64_t done = doorbell_->done.load(std::memory_order_acquire);
      if (done == go_) return SpanEnd::kDone;
      if (done != before) return SpanEnd::kMalformed;
      const int64_t left = deadline - NowNs();
      if (left <= 0) return SpanEnd::kTimedOut;
      const int64_t slice = std::min<int64_t>(left, 20'000'000);  // how late a death is noticed at worst
      const timespec timeout{0, static_cast<long>(slice)};
      syscall(SYS_futex, FutexWord(&doorbell_->done), FUTEX_WAIT, static_cast<uint32_t>(done), &timeout, nullptr, 0);
      if (Died() && doorbell_->done.load() != go_) return SpanEnd::kDied;
    }
  }

  int pid_;
  Fd pidfd_;
  Doorbell* doorbell_;
  CpuSecretReader secrets_;
  bool freezes_;
  int64_t frozen_ran_ns_ = 0;  // CPU time of all threads when they were stopped
  uint64_t go_ = 0;
};

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads) : threads_(threads), pool_(threads), scratch_(2 * LastLevelCacheBytes()) {}

  nlohmann::json Info() override {
    return {{"name", ProcessorName()},
            {"cores", threads_},
            {"last_level_cache", LastLevelCacheBytes()},
            {"copy_gb_s", CopyRate(pool_) / 1e9}};
  }

  void Present(std::span<const CopyItem> copies, std::span<const OutputItem> outputs, uint64_t secret) override {
    for (const CopyItem& item : copies) ParallelCopy(pool_, item.to, item.from, item.bytes);
    for (const OutputItem& output : outputs) Poison(pool_, output.data, output.bytes(), output.dtype, secret);
    Flush();
  }

  void Flush() override { FlushCaches(pool_, scratch_.data(), scratch_.size()); }

  void FillUniform(float* to, int64_t elements, uint64_t seed) override { kb::FillUniform(pool_, to, elements, seed); }

  bool Equal(const void* a, const void* b, size_t bytes) override { return ParallelEqual(pool_, a, b, bytes); }

  CompareResult CompareOutput(const void* got, const void* expected, const OutputItem& form, const ErrorBudget& budget,
                              const Tolerance& tolerance, uint64_t secret) override {
    return Compare(pool_, got, expected, form.dtype, form.shape, budget, tolerance, PoisonPattern(form.dtype, secret));
  }

  void AddAnchor(ErrorBudget* budget, const void* expected, kb_dtype dtype, int64_t elements,
                 const double* truth) override {
    budget->AddAnchor(pool_, expected, dtype, elements, truth);
  }

  std::unique_ptr<RunnerLink> Attach(int pid, Fd pidfd, Doorbell* doorbell, std::span<const OutputItem> outputs,
                                     bool freezes) override {
    return std::make_unique<CpuRunnerLink>(pid, std::move(pidfd), doorbell, outputs, freezes);
  }

  std::unique_ptr<SecretReader> MakeSecretReader(std::span<const OutputItem> outputs) override {
    return std::make_unique<CpuSecretReader>(outputs);
  }

  int64_t WaitedNs() override { return RunDelayNs(0); }

 private:
  int threads_;
  ThreadPool pool_;
  std::vector<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(int threads) { return std::make_unique<CpuDevice>(threads); }

}  // namespace kb
