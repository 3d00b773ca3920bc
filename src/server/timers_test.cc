#include "server/timers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace kb::server {
namespace {

using ::testing::ElementsAre;

TEST(TimersTest, CallsComeInTheOrderOfTheirTimes) {
  Timers timers;
  std::vector<int> called;
  std::promise<void> last;
  const auto add = [&](double seconds, int number) {
    timers.After(seconds, [&, number] { called.push_back(number); });
  };
  timers.After(0.05, [&] { last.set_value(); });
  add(0.03, 3);
  add(0.01, 1);
  add(0.02, 2);
  last.get_future().wait();
  EXPECT_THAT(called, ElementsAre(1, 2, 3));
  EXPECT_EQ(timers.size(), 0u);
}

TEST(TimersTest, WhatIsCancelledIsNotCalledAndHoldsNothing) {
  Timers timers;
  const auto held = std::make_shared<bool>(false);
  const auto id = timers.After(600, [held] { *held = true; });
  timers.After(0.01, [] {});
  EXPECT_EQ(held.use_count(), 2);
  timers.Cancel(id);
  timers.Cancel(id);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(*held);
}

TEST(TimersTest, ACallMayCancelItselfAndAskForAnother) {
  Timers timers;
  std::promise<void> called;
  Timers::Id id;
  id = timers.After(0.01, [&] {
    timers.Cancel(id);
    timers.After(0, [&] { called.set_value(); });
  });
  called.get_future().wait();
}

TEST(TimersTest, ItsEndForgetsWhatIsStillToCome) {
  const auto held = std::make_shared<int>(0);
  {
    Timers timers;
    timers.After(600, [held] { ++*held; });
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

}  // namespace
}  // namespace kb::server
