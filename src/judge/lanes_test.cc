#include "judge/lanes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "base/interrupt.h"

namespace kb {
namespace {

// Two lanes, both used by one thread that is interrupted: what would have to wait fails.
class LanesTest : public ::testing::Test {
 protected:
  const std::atomic<bool> interrupted_ = true;
  std::optional<WorksUnder> flag_{std::in_place, interrupted_};
  std::shared_ptr<Lanes> lanes_ = std::make_shared<Lanes>(2);
  int let_go_ = 0;
  Lane first_{lanes_, [] {}}, second_{lanes_, [this] { ++let_go_; }};
};

TEST_F(LanesTest, BothAreInAWindowAndOneIsMeasured) {
  EXPECT_TRUE(first_.Enter());
  EXPECT_TRUE(second_.Enter());
  EXPECT_FALSE(first_.Measure()) << "the second is in the window";
  EXPECT_TRUE(first_.Enter()) << "which takes whoever comes";
  second_.Leave();
  EXPECT_TRUE(first_.Measure());
  EXPECT_FALSE(second_.Enter()) << "the first is measured";
  first_.Leave();
  EXPECT_TRUE(second_.Enter());
  EXPECT_TRUE(second_.Measure());
  EXPECT_EQ(let_go_, 0) << "nobody asked for memory";
}

TEST_F(LanesTest, AllMemoryIsHadWhenTheOtherHasLetItGo) {
  EXPECT_TRUE(second_.Enter());
  second_.Leave();
  EXPECT_TRUE(first_.Enter());
  EXPECT_FALSE(first_.TakeWhole()) << "the second has what it loaded";
  flag_.reset();
  EXPECT_TRUE(first_.Enter());
  std::thread waits([&] { EXPECT_TRUE(first_.TakeWhole()); });
  while (let_go_ == 0) second_.GiveWay();
  waits.join();
  EXPECT_EQ(first_.sharers(), 1);
  EXPECT_EQ(second_.sharers(), 2);
  const WorksUnder flag(interrupted_);
  EXPECT_TRUE(first_.Measure());
  first_.Leave();
  EXPECT_FALSE(second_.Enter()) << "the first keeps it";
  first_.GiveBackWhole();
  EXPECT_TRUE(second_.Enter());
}

TEST_F(LanesTest, WhoWaitsToGetInLetsMemoryGo) {
  EXPECT_TRUE(second_.Enter());
  second_.Leave();
  flag_.reset();
  EXPECT_TRUE(first_.Enter());
  std::thread waits([&] {
    EXPECT_TRUE(first_.TakeWhole());
    first_.Leave();
    first_.GiveBackWhole();
  });
  while (let_go_ == 0) {
    EXPECT_TRUE(second_.Enter());
    second_.Leave();
  }
  waits.join();
  EXPECT_EQ(let_go_, 1);
}

TEST_F(LanesTest, ALaneThatEndsKeepsNothing) {
  {
    Lane third(lanes_, [] {});
    EXPECT_TRUE(third.Enter());
    EXPECT_TRUE(third.TakeWhole());
  }
  EXPECT_TRUE(first_.Enter());
  EXPECT_TRUE(first_.TakeWhole());
  EXPECT_TRUE(first_.Measure());
}

TEST_F(LanesTest, WhatEndsLetsGoAndWaitsForOthers) {
  EXPECT_TRUE(second_.Enter());
  second_.Leave();
  EXPECT_TRUE(first_.Enter());
  flag_.reset();
  std::atomic<bool> left = false;
  std::thread waits([&] {
    EXPECT_TRUE(first_.TakeWhole());
    EXPECT_TRUE(first_.Measure());
    left = true;
    first_.Leave();
    first_.End();
  });
  while (let_go_ == 0) second_.GiveWay();
  while (!first_.has_whole() && !left) std::this_thread::yield();
  second_.End();
  waits.join();
  EXPECT_EQ(let_go_, 1);
}

TEST_F(LanesTest, NothingIsLetGoBesideWhatIsMeasured) {
  lanes_ = std::make_shared<Lanes>(3);
  int let_go = 0;
  Lane first(lanes_, [] {}), second(lanes_, [&] { ++let_go; }), third(lanes_, [] {});
  for (Lane* lane : {&second, &first, &third}) EXPECT_TRUE(lane->Enter());
  second.Leave();
  flag_.reset();
  std::thread waits([&] { EXPECT_TRUE(third.TakeWhole()); });
  while (third.has_whole() == false) std::this_thread::yield();
  EXPECT_TRUE(first.Measure());
  second.GiveWay();
  EXPECT_EQ(let_go, 0) << "the first would see it";
  first.Leave();
  second.GiveWay();
  EXPECT_EQ(let_go, 1);
  first.GiveWay();
  waits.join();
}

}  // namespace
}  // namespace kb
