#include "judge/undisturbed.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

// How many calls the evaluation needed that all take `us`.
int Measure(Undisturbed* calls, double us) {
  int made = 0;
  for (; !calls->Enough(); ++made) calls->Add(us, us / 2);
  return made;
}

TEST(UndisturbedTest, SixCallsMakeAFigure) {
  Undisturbed calls(0.01);
  calls.Begin("eager");
  for (const double us : {100., 104., 98., 102., 500.}) calls.Add(us, us - 90);
  EXPECT_FALSE(calls.Enough());
  calls.Add(100, 10);
  ASSERT_TRUE(calls.Enough());
  EXPECT_DOUBLE_EQ(calls.Median().us, 101);
  EXPECT_DOUBLE_EQ(calls.Median().launch_us, 11);
  EXPECT_DOUBLE_EQ(calls.Median().spread, 1.4826 * 2 / 101) << "deviations 1, 1, 1, 3, 3, 399";
}

TEST(UndisturbedTest, TheSameBaselineNeedsTwoNewOnesThatAgree) {
  Undisturbed calls(0.01);
  calls.Begin("eager");
  EXPECT_EQ(Measure(&calls, 100), 6);
  EXPECT_FALSE(calls.Reused());
  calls.Begin("eager");
  EXPECT_EQ(Measure(&calls, 100.9), 2);
  EXPECT_TRUE(calls.Reused());
  EXPECT_DOUBLE_EQ(calls.Median().us, 100) << "four of them are from before";
  calls.Begin("eager");
  EXPECT_EQ(Measure(&calls, 100.9), 2) << "the latest four: two of either";
  EXPECT_DOUBLE_EQ(calls.Median().us, 100.9);
}

TEST(UndisturbedTest, WhatTheMachineDoesNoMoreIsForgotten) {
  for (const double now : {98.5, 101.5, 60.0, 200.0}) {
    Undisturbed calls(0.01);
    calls.Begin("eager");
    Measure(&calls, 100);
    calls.Begin("eager");
    EXPECT_EQ(Measure(&calls, now), 6) << now;
    EXPECT_FALSE(calls.Reused());
    EXPECT_DOUBLE_EQ(calls.Median().us, now);
    EXPECT_DOUBLE_EQ(calls.Median().launch_us, now / 2);
  }
}

TEST(UndisturbedTest, HowCloselyIsUpToTheDevice) {
  Undisturbed calls(0.05);
  calls.Begin("eager");
  Measure(&calls, 100);
  calls.Begin("eager");
  EXPECT_EQ(Measure(&calls, 104), 2);
  calls.Begin("eager");
  EXPECT_EQ(Measure(&calls, 108), 6);
}

TEST(UndisturbedTest, AnotherBaselineStartsAnew) {
  Undisturbed calls(0.01);
  calls.Begin("eager");
  Measure(&calls, 100);
  calls.Begin("compile");
  EXPECT_EQ(Measure(&calls, 100), 6);
  calls.Begin("eager");
  EXPECT_EQ(Measure(&calls, 100), 6) << "only the evaluation before counts";
}

TEST(UndisturbedTest, AfterADisturbanceAllAreMadeAnew) {
  Undisturbed calls(0.01);
  calls.Begin("eager");
  Measure(&calls, 100);
  calls.Begin("eager");
  calls.Add(100, 50);
  calls.Forget();
  EXPECT_EQ(Measure(&calls, 100), 6);
}

}  // namespace
}  // namespace kb
