#include "jobs/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/clock.h"

namespace kb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// A door that whoever comes waits at until it is opened.
class Door {
 public:
  void Open() { opened_.set_value(); }
  void Pass() const { may_.wait(); }

 private:
  std::promise<void> opened_;
  std::shared_future<void> may_ = opened_.get_future().share();
};

// What the fake judges do with a candidate, by its path; what is not here is judged at once and correct.
struct Script {
  std::map<std::string, std::function<Result<Evaluation>()>> evaluate;
  std::map<std::string, std::function<void()>> build;  // has a compilation
  std::set<std::string> asks;                          // lacks an extension when it is judged first
  std::function<void()> add_lacking;
  std::string fails_first;      // cannot be prepared the first time
  std::atomic<int> judges = 0;  // that live
};

class FakeJudge : public Judge {
 public:
  explicit FakeJudge(Script* script) : script_(script) { ++script_->judges; }
  FakeJudge(const FakeJudge&) = delete;  // counted
  FakeJudge& operator=(const FakeJudge&) = delete;
  ~FakeJudge() override { --script_->judges; }

  Result<Prepared> Prepare(const Request& request) override {
    const std::string path = request.candidate.path.string();
    const auto found = script_->build.find(path);
    if (found != script_->build.end()) found->second();
    if (script_->fails_first == path) {
      script_->fails_first.clear();
      return Fail(ErrorCode::kEngine, "no memory for a build");
    }
    return Prepared{.request = request};
  }
  Status MakeReady(const Request&) override { return {}; }
  Status AddLacking(Prepared* prepared) override {
    if (script_->add_lacking) script_->add_lacking();
    prepared->lacking.reset();
    return {};
  }
  Result<Evaluation> Evaluate(Prepared* prepared, std::span<const Request* const>) override {
    const std::string path = prepared->request.candidate.path.string();
    if (script_->asks.erase(path) > 0) prepared->lacking = ExtensionRequest{"key", {}};
    const auto found = script_->evaluate.find(path);
    return found == script_->evaluate.end() ? Evaluation() : found->second();
  }
  Result<Evaluation> Charge(const Request&, const Error& error) override {
    Evaluation charged;
    charged.reason = "charged: " + error.message;
    return charged;
  }

 private:
  Script* const script_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  // On "cuda" what is ready first is judged first; on "cpu" the order of a window is that of its tasks.
  SchedulerOptions Options(const std::string& device = "cuda") {
    SchedulerOptions options;
    options.make_judge = [this](const std::string&, const Shares&) -> Result<std::shared_ptr<Judge>> {
      return std::make_shared<FakeJudge>(&script_);
    };
    options.devices = {device};
    options.on_host = device == "cpu";
    options.compilations = 2;
    options.begin = [this](int64_t id) { return id != refused_; };
    options.judging = [this](const Task& task) { order_.push_back(task.id); };  // of one device
    options.end = [this](TaskEnd end) { ends_.insert_or_assign(end.id, std::move(end)); };
    return options;
  }
  std::unique_ptr<Scheduler> Start(SchedulerOptions options) {
    return std::move(Scheduler::Create(std::move(options)).value());
  }
  // Its candidate's path is "1" for the id 1.
  static Task MakeTask(int64_t id, int priority = 0, const std::string& client = "") {
    Task task;
    task.id = id;
    task.problem.path = "problem";
    task.protocol = std::make_shared<const Protocol>();
    task.priority = priority;
    task.client = client;
    task.read = [id]() -> Result<Candidate> {
      Candidate candidate;
      candidate.path = std::to_string(id);
      return candidate;
    };
    return task;
  }
  // Has the evaluation of this candidate say that it began, and wait.
  void Hold(const std::string& candidate) {
    script_.evaluate[candidate] = [this]() -> Result<Evaluation> {
      began_.Open();
      go_.Pass();
      return Evaluation();
    };
  }
  ErrorCode CodeOf(int64_t id) const { return ends_.at(id).evaluation.error().code; }

  Script script_;
  Door began_, go_;
  int64_t refused_ = -1;
  std::vector<int64_t> order_;       // of judging
  std::map<int64_t, TaskEnd> ends_;  // may be read when the scheduler has drained or stopped
};

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
    Door all;  // so that one window takes them all
    SchedulerOptions options = Options(device);
    options.begin = [&](int64_t) {
      all.Pass();
      return true;
    };
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
    SchedulerOptions options = Options("cpu");
    options.begin = [&](int64_t) {
      all.Pass();
      return true;
    };
    const auto scheduler = Start(std::move(options));
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
    SchedulerOptions options = Options("cpu");
    options.begin = [&](int64_t) {
      both.Pass();
      return true;
    };
    const auto scheduler = Start(std::move(options));
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
  SchedulerOptions options = Options("cpu");
  options.begin = [&](int64_t) {
    all.Pass();
    return true;
  };
  const auto scheduler = Start(std::move(options));
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
  Door both;  // so that one window takes them
  SchedulerOptions options = Options("cpu");
  options.begin = [&](int64_t) {
    both.Pass();
    return true;
  };
  const auto scheduler = Start(std::move(options));
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

// 1 is being judged, 2 is in the window, 3 has not begun.
TEST_F(SchedulerTest, AnInterruptEndsWhatHasBegunAndBeginsNothing) {
  Hold("1");
  Door all;
  SchedulerOptions options = Options("cpu");
  options.begin = [&](int64_t) {
    all.Pass();
    return true;
  };
  const auto scheduler = Start(std::move(options));
  scheduler->Submit(MakeTask(1));
  scheduler->Submit(MakeTask(2));
  all.Open();
  began_.Pass();
  scheduler->Submit(MakeTask(3));
  scheduler->Interrupt();
  scheduler->Drain();
  go_.Open();
  scheduler->Stop();
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_TRUE(ends_.at(1).evaluation) << "it was judged to its end";
  EXPECT_EQ(CodeOf(2), ErrorCode::kInterrupted);
  EXPECT_EQ(ends_.count(3), 0u);
}

// What waits under it sees the interrupt; what waits under another scheduler does not.
TEST_F(SchedulerTest, AnInterruptIsOfOneScheduler) {
  std::map<std::string, bool> seen;
  for (const char* id : {"1", "2"}) {
    script_.evaluate[id] = [&, id]() -> Result<Evaluation> {
      if (std::string(id) == "1") began_.Open();
      go_.Pass();
      seen[id] = Interrupted();
      return Evaluation();
    };
  }
  const auto one = Start(Options());
  one->Submit(MakeTask(1));
  began_.Pass();
  one->Interrupt();
  go_.Open();
  one->Stop();
  const auto other = Start(Options());
  other->Submit(MakeTask(2));
  other->Drain();
  EXPECT_TRUE(seen.at("1"));
  EXPECT_FALSE(seen.at("2"));
  EXPECT_FALSE(Interrupted());
}

TEST_F(SchedulerTest, OneThatIsCancelledEndsAndTheOthersAreJudged) {
  std::atomic<int> interrupted = 0;
  const auto until_interrupted = [&] {
    while (!Interrupted()) std::this_thread::yield();
    ++interrupted;
  };
  Door building;
  script_.build["1"] = [&] {
    building.Open();
    until_interrupted();
  };
  script_.evaluate["2"] = [&]() -> Result<Evaluation> {
    began_.Open();
    until_interrupted();
    return Fail(ErrorCode::kEngine, "a process died");
  };
  const auto scheduler = Start(Options());
  for (const int64_t id : {1, 2, 3}) scheduler->Submit(MakeTask(id));
  building.Pass();
  EXPECT_FALSE(scheduler->Cancel(1)) << "it has begun";
  began_.Pass();
  EXPECT_FALSE(scheduler->Cancel(2));
  EXPECT_FALSE(scheduler->Cancel(4)) << "nobody knows it";
  scheduler->Drain();
  scheduler->Submit(MakeTask(5));
  scheduler->Drain();
  scheduler->Stop();
  EXPECT_EQ(interrupted, 2);
  EXPECT_EQ(CodeOf(1), ErrorCode::kInterrupted);
  EXPECT_EQ(CodeOf(2), ErrorCode::kInterrupted) << "nobody is charged with it";
  for (const int64_t id : {3, 5}) EXPECT_TRUE(ends_.at(id).evaluation) << id;
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
