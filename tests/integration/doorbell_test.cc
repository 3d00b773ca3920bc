// The judge's end of the doorbell against runners that are honest, late, dead, endless or lying.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "device/device.h"
#include "device/process_link.h"
#include "device/process_watch.h"
#include "runner/mailbox.h"

namespace kb {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Shared {
  SharedMemory doorbell = *SharedMemory::Create("doorbell", kDoorbellBytes);
  SharedMemory outputs = *SharedMemory::Create("outputs", 1 << 20);
  Doorbell* bell() const { return reinterpret_cast<Doorbell*>(doorbell.data()); }
  float* output() const { return reinterpret_cast<float*>(outputs.data()); }
};

using Copies = std::span<const CopyItem>;

// A process that serves the doorbell with `serve`, and the judge's link to it.
class FakeRunner {
 public:
  // With a watch both sides spin, as on a GPU.
  FakeRunner(const Shared& shared, const std::function<void(runner::Mailbox*)>& serve, const LinkOptions& options = {})
      : items_{{shared.outputs.data(), {KB_FLOAT, 32, 1}, {1 << 18}}} {
    pid_ = fork();
    if (pid_ == 0) {
      runner::Mailbox mailbox(shared.bell(), static_cast<bool>(options.watch));
      serve(&mailbox);
      _exit(7);
    }
    device_ = MakeCpuDevice(1);
    link_ = MakeProcessLink(pid_, Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))), shared.bell(),
                            device_->MakeSecretReader(items_), options);
  }
  ~FakeRunner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  CallSpan Call(int64_t timeout_ns = 10 * kSecond, CallKind kind = CallKind::kForward) {
    return link_->Call(kind, 5, timeout_ns, kind == CallKind::kForward);
  }
  // With an input that comes before go, behind the hold, or both.
  CallSpan CallWith(bool early, bool late) {
    const CopyItem input{};
    const Copies one(&input, 1);
    return link_->Call(CallKind::kForward, 5, 10 * kSecond, true, {early ? one : Copies(), late ? one : Copies()});
  }
  RunnerLink* link() { return link_.get(); }
  int pid() const { return pid_; }

 private:
  std::vector<OutputItem> items_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<RunnerLink> link_;
  int pid_ = -1;
};

TEST(Doorbell, HonestCallsAreAnsweredAndTheRunnerSleepsBetween) {
  Shared shared;
  FakeRunner runner(shared, [&](runner::Mailbox* mailbox) {
    for (float value = 1;; ++value) {
      const runner::Command command = mailbox->Wait();
      if (command.argument != 5 || command.kind != CallKind::kForward) _exit(9);
      for (int i = 0; i < 1 << 18; ++i) shared.output()[i] = value;
      mailbox->Answer();
    }
  });
  for (float value = 1; value <= 3; ++value) {
    const CallSpan span = runner.Call();
    ASSERT_EQ(span.end, SpanEnd::kDone);
    EXPECT_GT(span.ns, 0);
    EXPECT_EQ(shared.output()[77], value);
    EXPECT_TRUE(runner.link()->SecretsHold());
    EXPECT_TRUE(AllThreadsStopped(runner.pid()));
  }
}

// As on a GPU, where inputs come late: the runner is awake while the device is watched, and has done nothing when the
// clock starts.
TEST(Doorbell, AWatchedRunnerWaitsForGo) {
  Shared shared;
  int watched = 0;
  bool early = false;
  const auto watch = [&](Copies) -> int64_t {
    usleep(20'000);
    early |= shared.output()[9] != static_cast<float>(watched);
    return ++watched == 2 ? 321 : 0;
  };
  FakeRunner runner(shared,
                    [&](runner::Mailbox* mailbox) {
                      for (float value = 1;; ++value) {
                        mailbox->Wait();
                        for (int i = 0; i < 1 << 18; ++i) shared.output()[i] = value;
                        mailbox->Answer();
                      }
                    },
                    {.watch = watch, .hold = [](Copies) {}});
  for (float value = 1; value <= 3; ++value) {
    const CallSpan span = runner.CallWith(false, true);
    ASSERT_EQ(span.end, SpanEnd::kDone);
    EXPECT_EQ(span.gap_ns, value == 2 ? 321 : 0);
    EXPECT_EQ(shared.output()[77], value);
    EXPECT_TRUE(AllThreadsStopped(runner.pid()));
  }
  EXPECT_EQ(watched, 3);
  EXPECT_FALSE(early);
  kill(runner.pid(), SIGKILL);
  EXPECT_EQ(runner.Call().end, SpanEnd::kDied);
}

// Who could read its inputs during the watch, which puts early ones in place, sleeps until go; and late inputs come
// between watch and go.
TEST(Doorbell, NobodyIsAwakeWithInputsInPlaceBeforeGo) {
  struct Case {
    bool early, late;
    const char* steps;
  };
  for (const Case& each :
       {Case{false, false, "watched asleep, held"}, Case{true, false, "filled and watched asleep, held"},
        Case{false, true, "watched awake, held and filled"},
        Case{true, true, "filled and watched asleep, held and filled"}}) {
    Shared shared;
    FakeRunner* runner = nullptr;
    std::string steps;
    uint64_t last_go = 0;
    const auto watch = [&](Copies copies) -> int64_t {
      usleep(5'000);
      if (!copies.empty()) steps += "filled and ";
      steps += AllThreadsStopped(runner->pid()) ? "watched asleep" : "watched awake";
      return 0;
    };
    const auto hold = [&](Copies copies) {
      EXPECT_EQ(shared.bell()->go, last_go) << "go comes after it";
      steps += copies.empty() ? ", held" : ", held and filled";
    };
    FakeRunner made(shared,
                    [](runner::Mailbox* mailbox) {
                      for (;;) {
                        mailbox->Wait();
                        mailbox->Answer();
                      }
                    },
                    {.watch = watch, .hold = hold});
    runner = &made;
    for (int call = 0; call < 2; ++call) {
      steps.clear();
      EXPECT_EQ(made.CallWith(each.early, each.late).end, SpanEnd::kDone);
      EXPECT_EQ(steps, each.steps);
      last_go = shared.bell()->go;
    }
  }
}

// Where somebody else had the device before late inputs were in place, a call says nothing of the candidate.
TEST(Doorbell, ACallBeforeItsInputsIsToldApart) {
  Shared shared;
  int64_t taken_ns = 400;
  FakeRunner runner(
      shared,
      [](runner::Mailbox* mailbox) {
        for (;;) {
          mailbox->Wait();
          mailbox->Answer();
        }
      },
      {.watch = [](Copies) { return int64_t{0}; }, .hold = [](Copies) {}, .taken = [&] { return taken_ns; }});
  for (const bool early : {false, true}) {
    for (const bool late : {false, true}) {
      const CallSpan span = runner.CallWith(early, late);
      EXPECT_EQ(span.end, late && !early ? SpanEnd::kTooEarly : SpanEnd::kDone) << "others were in place";
      EXPECT_EQ(span.gap_ns, 400) << "what it took from the device voids a round";
    }
  }
  taken_ns = 0;
  const CallSpan span = runner.CallWith(false, true);
  EXPECT_EQ(span.end, SpanEnd::kDone);
  EXPECT_EQ(span.gap_ns, 0);
}

// What a runner on a GPU says of its own clocks comes after its answer; who says nothing, or it with a wrong number,
// has said nothing.
TEST(Doorbell, TimesComeAfterTheAnswerOrNotAtAll) {
  const auto span_of = [](const std::function<void(const Shared&, runner::Mailbox*)>& add, bool watched) {
    Shared shared;
    FakeRunner runner(shared,
                      [&](runner::Mailbox* mailbox) {
                        for (;;) {
                          mailbox->Wait();
                          mailbox->Answer();
                          add(shared, mailbox);
                        }
                      },
                      {.watch = watched ? [](Copies) { return int64_t{0}; } : std::function<int64_t(Copies)>()});
    const CallSpan span = runner.Call();
    EXPECT_EQ(span.end, SpanEnd::kDone);
    EXPECT_EQ(runner.Call().end, SpanEnd::kDone) << "the next call is a call like any other";
    return std::pair(span.elapsed_ns, span.launched_ns);
  };
  using Times = std::pair<uint64_t, uint64_t>;
  const auto add = [](const Shared&, runner::Mailbox* mailbox) { mailbox->AddTimes(1234, 567); };
  EXPECT_EQ(span_of(add, true), Times(1234, 567));
  EXPECT_EQ(span_of(add, false), Times(0, 0)) << "a CPU has no such times";
  EXPECT_EQ(span_of([](const Shared&, runner::Mailbox*) {}, true), Times(0, 0));
  const auto forged = [](const Shared& shared, runner::Mailbox*) {
    shared.bell()->elapsed_ns = 1;
    shared.bell()->timed = shared.bell()->done + 1;
  };
  EXPECT_EQ(span_of(forged, true), Times(0, 0));
}

TEST(Doorbell, WhatIsWrittenAfterDoneIsSeen) {
  Shared shared;
  FakeRunner runner(shared, [&](runner::Mailbox* mailbox) {
    mailbox->Wait();
    mailbox->Answer();
    for (int i = 0;; i = (i + 1) % (1 << 18)) shared.output()[i] += 1;
  });
  ASSERT_EQ(runner.Call().end, SpanEnd::kDone);
  // The runner is stopped now; what it still wrote between the reading and its stop is what the check is for. Write all
  // of it here, as a runner that was slow to stop would have.
  for (int i = 0; i < 1 << 18; ++i) shared.output()[i] = -1;
  EXPECT_FALSE(runner.link()->SecretsHold());
}

TEST(Doorbell, AThreadLeftBehindStopsToo) {
  Shared shared;
  FakeRunner runner(shared, [&](runner::Mailbox* mailbox) {
    std::thread spinner([&] {
      for (volatile float* at = shared.output();;) *at = *at + 1;
    });
    for (;;) {
      mailbox->Wait();
      mailbox->Answer();
    }
  });
  ASSERT_EQ(runner.Call().end, SpanEnd::kDone);
  EXPECT_TRUE(AllThreadsStopped(runner.pid()));
  const float before = shared.output()[0];
  usleep(20'000);
  EXPECT_EQ(shared.output()[0], before);
}

TEST(Doorbell, ARunnerThatRanWhileItWasStoppedIsStoppedAgain) {
  Shared shared;
  FakeRunner runner(shared, [](runner::Mailbox* mailbox) {
    for (;;) {
      mailbox->Wait();
      mailbox->Answer();
    }
  });
  ASSERT_EQ(runner.Call().end, SpanEnd::kDone);
  ASSERT_EQ(kill(runner.pid(), SIGCONT), 0);
  while (AllThreadsStopped(runner.pid())) usleep(1000);
  EXPECT_EQ(runner.Call().end, SpanEnd::kRanFrozen);
  EXPECT_TRUE(AllThreadsStopped(runner.pid()));
  EXPECT_EQ(runner.Call().end, SpanEnd::kDone);
}

// That it is stopped by then changes nothing.
TEST(Doorbell, ARunnerThatRanAndStoppedBeforeItsCallIsNoticed) {
  Shared shared;
  FakeRunner runner(shared, [](runner::Mailbox* mailbox) {
    std::thread spinner([] {
      for (volatile int at = 0;;) at = at + 1;
    });
    for (;;) {
      mailbox->Wait();
      mailbox->Answer();
    }
  });
  ASSERT_EQ(runner.Call().end, SpanEnd::kDone);
  const int64_t ran = RunTimeNs(runner.pid());
  ASSERT_EQ(kill(runner.pid(), SIGCONT), 0);
  while (RunTimeNs(runner.pid()) == ran) usleep(1000);
  ASSERT_EQ(kill(runner.pid(), SIGSTOP), 0);
  while (!AllThreadsStopped(runner.pid())) usleep(1000);
  EXPECT_EQ(runner.Call().end, SpanEnd::kRanFrozen);
  EXPECT_EQ(runner.Call().end, SpanEnd::kDone);
}

// It could read inputs that are in place while the device is watched.
TEST(Doorbell, ARunnerThatWakesDuringTheWatchIsStoppedAgain) {
  Shared shared;
  FakeRunner* runner = nullptr;
  int watched = 0;
  const auto watch = [&](Copies) -> int64_t {
    if (++watched == 1) {
      kill(runner->pid(), SIGCONT);
      while (AllThreadsStopped(runner->pid())) usleep(1000);
    }
    return 0;
  };
  FakeRunner made(shared,
                  [](runner::Mailbox* mailbox) {
                    for (;;) {
                      mailbox->Wait();
                      mailbox->Answer();
                    }
                  },
                  {.watch = watch});
  runner = &made;
  EXPECT_EQ(made.Call().end, SpanEnd::kRanFrozen);
  EXPECT_TRUE(AllThreadsStopped(made.pid()));
  EXPECT_EQ(made.Call().end, SpanEnd::kDone);
}

TEST(Doorbell, DeathTimeoutAndForgeryAreToldApart) {
  Shared dead, endless, lying;
  FakeRunner dies(dead, [](runner::Mailbox* mailbox) { mailbox->Wait(); });
  EXPECT_EQ(dies.Call().end, SpanEnd::kDied);
  FakeRunner spins(endless, [](runner::Mailbox* mailbox) {
    mailbox->Wait();
    for (;;) usleep(1000);
  });
  EXPECT_EQ(spins.Call(kSecond / 10).end, SpanEnd::kTimedOut);
  FakeRunner lies(lying, [&](runner::Mailbox* mailbox) {
    mailbox->Wait();
    for (;;) lying.bell()->done.store(0x1234567890abcdef);
  });
  EXPECT_EQ(lies.Call().end, SpanEnd::kMalformed);
}

TEST(Doorbell, ARingBeforeTheRunnerIsReadyIsNotLost) {
  Shared shared;
  FakeRunner runner(shared, [](runner::Mailbox* mailbox) {
    for (;;) {
      EXPECT_EQ(mailbox->Wait().kind, CallKind::kEmpty);
      mailbox->Answer();
    }
  });
  EXPECT_EQ(runner.Call(10 * kSecond, CallKind::kEmpty).end, SpanEnd::kDone);
}

TEST(SharedMemory, ARunnerCannotShrinkIt) {
  const Shared shared;
  EXPECT_NE(ftruncate(shared.outputs.fd(), 0), 0);
  EXPECT_NE(ftruncate(shared.outputs.fd(), 1 << 24), 0);
}

}  // namespace
}  // namespace kb
