#include "jobs/scheduler_test_util.h"

namespace kb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

TEST_F(SchedulerTest, JudgesAllButWhatIsSomebodyElses) {
  refused_ = 2;
  const auto scheduler = Start(Options("cpu"));
  for (int64_t id = 1; id <= 3; ++id) scheduler->Submit(MakeTask(id));
  Task unreadable = MakeTask(4);
  unreadable.read = []() -> Result<Candidate> { return Fail(ErrorCode::kUsage, "no such file"); };
  scheduler->Submit(unreadable);
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(1, 3));
  EXPECT_EQ(ends_.size(), 3u);
  EXPECT_TRUE(ends_.at(1).evaluation);
  EXPECT_EQ(CodeOf(4), ErrorCode::kUsage);
}

// 1 is being judged and 2 to 4 are in the window when 5 comes.
TEST_F(SchedulerTest, WhatIsUrgentWaitsForOneEvaluationAndNotForTheWindow) {
  for (const std::string device : {"cpu", "cuda"}) {
    SCOPED_TRACE(device);
    Door began, go, prepared;
    order_.clear();
    script_.evaluate["1"] = [&]() -> Result<Evaluation> {
      began.Open();
      go.Pass();
      return Evaluation();
    };
    for (const char* id : {"2", "3", "4"}) {
      if (device == "cuda") script_.build[id] = [&] { began.Pass(); };  // or it might be judged first
      script_.evaluate[id] = [&]() -> Result<Evaluation> {
        prepared.Pass();  // evaluations take longer than it takes to find something in the cache
        return Evaluation();
      };
    }
    Door all;
    SchedulerOptions options = OptionsBehind(&all, device);
    options.span = [&](const Span& span) {
      if (span.lane != device && span.name == "5") prepared.Open();
    };
    const auto scheduler = Start(std::move(options));
    for (int64_t id = 1; id <= 4; ++id) scheduler->Submit(MakeTask(id));
    all.Open();
    began.Pass();
    scheduler->Submit(MakeTask(5, 1));
    go.Open();
    scheduler->Drain();
    ASSERT_EQ(order_.size(), 5u);
    if (device == "cpu") {
      EXPECT_THAT(order_, ElementsAre(1, 5, 2, 3, 4));
    } else {  // a GPU judges one that is ready while the urgent one is prepared
      EXPECT_EQ(order_[0], 1);
      EXPECT_TRUE(order_[1] == 5 || order_[2] == 5) << testing::PrintToString(order_);
    }
  }
}

TEST_F(SchedulerTest, ClientsTakeTurns) {
  Hold("1");
  const auto scheduler = Start(Options("cpu"));
  scheduler->Submit(MakeTask(1, 9));
  began_.Pass();
  for (int64_t id = 2; id < 12; ++id) scheduler->Submit(MakeTask(id, 0, "many"));
  scheduler->Submit(MakeTask(12, 0, "few"));
  go_.Open();
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(1, 2, 3, 4, 5, 12, 6, 7, 8, 9, 10, 11));
}

// 1 is being judged, and the window is full of another client's.
TEST_F(SchedulerTest, AClientWaitsForATurnOfAnotherAndAnUrgentOneForOneEvaluation) {
  for (const auto& [priority, expected] :
       {std::pair(0, std::vector<int64_t>{1, 2, 3, 4, 5, 99}), {1, std::vector<int64_t>{1, 99, 2, 3, 4, 5}}}) {
    order_.clear();
    Door began, go;
    script_.evaluate["1"] = [&]() -> Result<Evaluation> {
      began.Open();
      go.Pass();
      return Evaluation();
    };
    Door all;
    const auto scheduler = Start(OptionsBehind(&all, "cpu"));
    for (int64_t id = 1; id <= 40; ++id) scheduler->Submit(MakeTask(id, 0, "many"));
    all.Open();
    began.Pass();
    scheduler->Submit(MakeTask(99, priority, "few"));
    go.Open();
    scheduler->Drain();
    ASSERT_EQ(order_.size(), 41u);
    EXPECT_EQ(std::vector(order_.begin(), order_.begin() + 6), expected);
  }
}

TEST_F(SchedulerTest, TakesBackWhatHasNotBegun) {
  Hold("1");
  const auto scheduler = Start(Options());
  scheduler->Submit(MakeTask(1));
  began_.Pass();
  scheduler->Submit(MakeTask(2));
  EXPECT_TRUE(scheduler->Cancel(2));
  EXPECT_FALSE(scheduler->Cancel(2));
  EXPECT_FALSE(scheduler->Cancel(1)) << "it is being judged";
  go_.Open();
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_EQ(ends_.count(2), 0u);
}

// The build of 1 ends only when 2 is being judged: had the device waited for it, nothing would ever go on.
TEST_F(SchedulerTest, TheDeviceDoesNotWaitWhileAnotherIsReady) {
  script_.build["1"] = [this] { began_.Pass(); };
  script_.evaluate["2"] = [this]() -> Result<Evaluation> {
    began_.Open();
    return Evaluation();
  };
  const auto scheduler = Start(Options());
  scheduler->Submit(MakeTask(1));
  scheduler->Submit(MakeTask(2));
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(2, 1));
}

// 2 is prepared only once 1 has asked for an extension, which is built only once 2 is being judged.
TEST_F(SchedulerTest, TheDeviceIsGivenBackWhileWhatACallLacksIsBuilt) {
  script_.asks = {"1"};
  script_.evaluate["1"] = [this, first = true]() mutable -> Result<Evaluation> {
    if (std::exchange(first, false)) began_.Open();
    return Evaluation();
  };
  script_.build["2"] = [this] { began_.Pass(); };
  script_.evaluate["2"] = [this]() -> Result<Evaluation> {
    go_.Open();
    return Evaluation();
  };
  script_.add_lacking = [this] { go_.Pass(); };
  const auto scheduler = Start(Options());
  scheduler->Submit(MakeTask(1));
  scheduler->Submit(MakeTask(2));
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(1, 2, 1));
  EXPECT_EQ(ends_.size(), 2u);
}

TEST_F(SchedulerTest, WhatIsToBeBuiltAloneEndsUnjudgedAndFirst) {
  for (const char* device : {"cuda", "cpu"}) {
    order_.clear();
    ends_.clear();
    script_.evaluate["1"] = [] { return Result<Evaluation>(Fail(ErrorCode::kUsage, "judged")); };
    const auto scheduler = Start(Options(device));
    Task task = MakeTask(1);
    task.build_only = true;
    scheduler->Submit(std::move(task));
    scheduler->Submit(MakeTask(2));
    scheduler->Drain();
    EXPECT_THAT(order_, ElementsAre(2)) << device;
    ASSERT_TRUE(ends_.at(1).evaluation) << device;
    EXPECT_EQ(ends_.at(1).evaluation->reason, "not judged");
  }
}

TEST_F(SchedulerTest, AnErrorOfTheEngineIsChargedOnlyWhereOthersAreJudged) {
  int calls = 0;
  script_.evaluate["1"] = [&]() -> Result<Evaluation> {
    ++calls;
    return Fail(ErrorCode::kEngine, "the device process died");
  };
  {
    const auto scheduler = Start(Options());
    scheduler->Submit(MakeTask(1));
    scheduler->Drain();
    EXPECT_EQ(CodeOf(1), ErrorCode::kEngine) << "no other was judged";
    EXPECT_EQ(calls, 1) << "the judge itself tries again";
  }
  {
    Door both;  // a device that has nothing left to judge charges nobody
    const auto scheduler = Start(OptionsBehind(&both, "cpu"));
    scheduler->Submit(MakeTask(1));
    scheduler->Submit(MakeTask(2));
    both.Open();
    scheduler->Drain();
    ASSERT_TRUE(ends_.at(1).evaluation);
    EXPECT_EQ(ends_.at(1).evaluation->reason, "charged: the device process died");
    EXPECT_THAT(order_, ElementsAre(1, 1, 2, 1)) << "once by itself above, here again after another one";
  }
}

// 1 and 2 meet a busy machine, which is quiet when 1 is judged again.
TEST_F(SchedulerTest, WhatABusyMachineGaveNoNumberIsJudgedOnceMoreAtTheEnd) {
  Evaluation busy;
  busy.verdict = Verdict::kCorrect;
  busy.timings.no_speedup = kMachineBusy;
  script_.evaluate["1"] = [&, first = true]() mutable { return std::exchange(first, false) ? busy : Evaluation(); };
  script_.evaluate["2"] = [&] { return busy; };
  const auto scheduler = Start(Options("cpu"));
  for (int64_t id = 1; id <= 3; ++id) scheduler->Submit(MakeTask(id));
  scheduler->Drain();
  EXPECT_EQ(order_.size(), 5u);
  EXPECT_THAT(order_, IsSupersetOf({1, 1, 2, 2, 3}));
  EXPECT_EQ(ends_.at(1).evaluation->timings.no_speedup, "");
  EXPECT_EQ(ends_.at(2).evaluation->timings.no_speedup, kMachineBusy);
}

// Each waits for what its client wants as urgently, and for nobody else.
TEST_F(SchedulerTest, WhatIsUrgentIsJudgedOnceMoreAtOnce) {
  Evaluation busy;
  busy.verdict = Verdict::kCorrect;
  busy.timings.no_speedup = kMachineBusy;
  for (const char* id : {"1", "2", "9"}) script_.evaluate[id] = [&] { return busy; };
  Door all;
  const auto scheduler = Start(OptionsBehind(&all, "cpu"));
  scheduler->Submit(MakeTask(1, 5));
  for (int64_t id = 2; id <= 4; ++id) scheduler->Submit(MakeTask(id));
  scheduler->Submit(MakeTask(9, 0, "other"));
  all.Open();
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(1, 1, 2, 3, 4, 9, 2, 9));
}

TEST_F(SchedulerTest, AWrongCandidateIsNotJudgedAgain) {
  Evaluation wrong;
  wrong.verdict = Verdict::kIncorrect;
  wrong.timings.no_speedup = kMachineBusy;
  script_.evaluate["1"] = [&] { return wrong; };
  const auto scheduler = Start(Options("cpu"));
  scheduler->Submit(MakeTask(1));
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(1));
}

TEST_F(SchedulerTest, WhatIsNotJudgedAgainKeepsItsVerdict) {
  Evaluation busy;
  busy.verdict = Verdict::kCorrect;
  busy.timings.no_speedup = kMachineBusy;
  script_.evaluate["1"] = [&] { return busy; };
  Hold("2");
  Door both;
  const auto scheduler = Start(OptionsBehind(&both, "cpu"));
  scheduler->Submit(MakeTask(1));
  scheduler->Submit(MakeTask(2));
  both.Open();
  began_.Pass();
  scheduler->Interrupt();
  go_.Open();
  scheduler->Stop();
  EXPECT_THAT(order_, ElementsAre(1, 2));
  ASSERT_TRUE(ends_.at(1).evaluation);
  EXPECT_EQ(ends_.at(1).evaluation->timings.no_speedup, kMachineBusy);
}

TEST_F(SchedulerTest, WhatCouldNotBePreparedIsPreparedOnceMore) {
  script_.fails_first = "1";
  const auto scheduler = Start(Options());
  scheduler->Submit(MakeTask(1));
  scheduler->Drain();
  EXPECT_TRUE(ends_.at(1).evaluation);
}

TEST_F(SchedulerTest, ADevicesTimeIsKnownByCause) {
  constexpr auto kLong = std::chrono::milliseconds(200);
  script_.build["1"] = [&] { std::this_thread::sleep_for(kLong); };
  script_.evaluate["1"] = [&]() -> Result<Evaluation> {
    std::this_thread::sleep_for(2 * kLong);
    return Evaluation();
  };
  const int64_t start = NowNs();
  const auto scheduler = Start(Options());
  scheduler->Submit(MakeTask(1));
  scheduler->Drain();
  scheduler->Stop();
  const double whole = static_cast<double>(NowNs() - start) / 1e9;
  const std::vector<DeviceTime> times = scheduler->Times();
  ASSERT_EQ(times.size(), 1u);
  const DeviceTime& time = times[0];
  EXPECT_EQ(time.device, "cuda");
  EXPECT_GE(time.builds, 0.15);
  EXPECT_GE(time.judging, 0.4);
  EXPECT_LE(time.judging + time.builds + time.no_task + time.engine, whole);
}

TEST_F(SchedulerTest, AJudgeThatCannotBeMadeIsAnError) {
  SchedulerOptions options = Options();
  options.make_judge = [](const std::string&, const Shares&) -> Result<std::shared_ptr<Judge>> {
    return Fail(ErrorCode::kUnavailable, "no such GPU");
  };
  EXPECT_FALSE(Scheduler::Create(std::move(options)));
}

// Stopped while its candidate is still being built: the judge must outlive that.
TEST_F(SchedulerTest, AJudgeOutlivesItsBuilds) {
  int seen = 0;
  script_.build["1"] = [&] {
    began_.Open();
    go_.Pass();
    seen = script_.judges;
  };
  {
    auto scheduler = Start(Options());
    scheduler->Submit(MakeTask(1));
    began_.Pass();
    scheduler->Stop();
    go_.Open();
  }
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(script_.judges, 0);
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_EQ(CodeOf(1), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace kb
