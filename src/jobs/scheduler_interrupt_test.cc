#include "jobs/scheduler_test_util.h"

namespace kb {
namespace {

using ::testing::ElementsAre;

// 1 is being judged, 2 is in the window, 3 has not begun.
TEST_F(SchedulerTest, AnInterruptEndsWhatHasBegunAndBeginsNothing) {
  Hold("1");
  Door all;
  const auto scheduler = Start(OptionsBehind(&all, "cpu"));
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

}  // namespace
}  // namespace kb
