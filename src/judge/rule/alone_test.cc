#include "judge/rule/alone.h"

#include <gmock/gmock.h>

#include "judge/devices/device_kind.h"
#include "judge/rule/timings.h"
#include "judge/rule/void_rounds.h"

namespace kb {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

Timings OnGpu() {
  return {.setting = {.device = "cuda", .floor = {10, 0.02}}, .calibration = KindOfDevice("cuda")->calibration};
}

AloneCall Took(double us) { return {.call = {.us = us, .launch_us = us / 2}, .quiet = true}; }

AloneCall Lost(double us) { return {.call = {.us = us, .waited_us = 1'000}, .quiet = true}; }

// The calls of an evaluation behind those that the one before kept, while each takes `us` and as many as are needed.
struct Made {
  std::vector<AloneCall> calls;
  int made = 0;
  Alone alone;
};
Made Make(const std::vector<CallTimes>& kept, double us, const Timings& timings) {
  Made measured;
  for (const CallTimes& call : kept) measured.calls.push_back({.call = call, .quiet = true, .kept = true});
  Asked<Alone> asked = AskAlone(measured.calls, timings);
  for (; asked.more(); ++measured.made, asked = AskAlone(measured.calls, timings)) measured.calls.push_back(Took(us));
  if (asked.answer) measured.alone = *asked.answer;
  return measured;
}

TEST(Alone, SixCallsBehindTheOneThatWarmsUpMakeAFigure) {
  const Timings timings = OnGpu();
  std::vector<AloneCall> calls = {Took(9'000)};
  for (const double us : {100., 104., 98., 102., 500.}) calls.push_back({.call = {.us = us, .launch_us = us - 90}});
  EXPECT_TRUE(AskAlone(calls, timings).more());
  calls.push_back({.call = {.us = 100, .launch_us = 10}});
  const auto asked = AskAlone(calls, timings);
  ASSERT_TRUE(asked.answer);
  EXPECT_DOUBLE_EQ(asked.answer->figure.us, 101);
  EXPECT_DOUBLE_EQ(asked.answer->figure.launch_us, 11);
  EXPECT_DOUBLE_EQ(asked.answer->figure.spread, 1.4826 * 2 / 101) << "deviations 1, 1, 1, 3, 3, 399";
}

TEST(Alone, TheSameBaselineNeedsTwoNewOnesThatAgree) {
  const Timings timings = OnGpu();
  const Made first = Make({}, 100, timings);
  EXPECT_EQ(first.made, 1 + 6);
  EXPECT_FALSE(first.alone.reused);
  const Made second = Make(first.alone.kept, 100.9, timings);
  EXPECT_EQ(second.made, 1 + 2);
  EXPECT_TRUE(second.alone.reused);
  EXPECT_DOUBLE_EQ(second.alone.figure.us, 100) << "four of them are from before";
  const Made third = Make(second.alone.kept, 100.9, timings);
  EXPECT_EQ(third.made, 1 + 2) << "the latest four: two of either";
  EXPECT_DOUBLE_EQ(third.alone.figure.us, 100.9);
}

TEST(Alone, WhatTheMachineDoesNoMoreIsForgotten) {
  const Timings timings = OnGpu();
  const std::vector<CallTimes> kept = Make({}, 100, timings).alone.kept;
  for (const double now : {98.5, 101.5, 60.0, 200.0}) {
    const Made again = Make(kept, now, timings);
    EXPECT_EQ(again.made, 1 + 6) << now;
    EXPECT_FALSE(again.alone.reused);
    EXPECT_DOUBLE_EQ(again.alone.figure.us, now);
    EXPECT_DOUBLE_EQ(again.alone.figure.launch_us, now / 2);
  }
}

TEST(Alone, HowCloselyTheyAgreeIsUpToTheDevice) {
  Timings cpu{.calibration = KindOfDevice("cpu")->calibration};
  const std::vector<CallTimes> kept = Make({}, 100, cpu).alone.kept;
  EXPECT_EQ(Make(kept, 104, cpu).made, 1 + 2);
  EXPECT_EQ(Make(kept, 108, cpu).made, 1 + 6);
}

// Other runners of ours start and end beside the first calls; if that does not stop, everything of ours does.
TEST(Alone, CallsBesideOurRunnersDoNotCountAndEndInQuiet) {
  const Timings timings = OnGpu();
  std::vector<AloneCall> calls;
  for (int i = 0; i < 14; ++i) {
    EXPECT_FALSE(AskAlone(calls, timings).quiet) << i;
    calls.push_back({.call = {.us = 100, .gap_us = i % 2 == 0 ? 50. : 0.}, .quiet = false});
    if (i == 11) calls.back().call.gap_us = 50;
  }
  EXPECT_FALSE(UsedByOthers(calls));
  calls.resize(10);
  for (int i = 0; i < 4; ++i) calls.push_back({.call = {.us = 100, .gap_us = 50}, .quiet = false});
  ASSERT_TRUE(AskAlone(calls, timings).more());
  EXPECT_TRUE(AskAlone(calls, timings).quiet);
  for (int i = 0; i < 7; ++i) calls.push_back({.call = {.us = 80, .gap_us = 50}, .quiet = true});
  ASSERT_TRUE(AskAlone(calls, timings).answer);
  EXPECT_EQ(AskAlone(calls, timings).answer->figure.us, 80) << "what was measured before is forgotten";
  EXPECT_TRUE(UsedByOthers(calls));
}

TEST(Alone, OtherLoadIsWaitedForAndThenThereIsNoFigure) {
  const Timings timings = OnGpu();
  std::vector<AloneCall> calls = {Took(100)};
  for (int i = 0; i < 20; ++i) {
    const auto asked = AskAlone(calls, timings);
    ASSERT_TRUE(asked.more());
    EXPECT_EQ(asked.pause_ms, i == 0 || i % 2 == 1 ? 0 : 5 << std::min(i / 2 - 1, 6)) << i;
    calls.push_back(Lost(100));
  }
  EXPECT_TRUE(AskAlone(calls, timings).busy);
}

TEST(Alone, TwoCallsConfirmTheFigureOnceTheRunnerIsGone) {
  Timings timings = OnGpu();
  timings.undisturbed = {100, 50, 0};
  std::vector<AloneCall> calls;
  EXPECT_TRUE(AskAgain(calls, timings).draw);
  calls = {Took(99.6), Lost(120), Took(130)};
  ASSERT_TRUE(AskAgain(calls, timings).answer);
  EXPECT_EQ(AskAgain(calls, timings).answer->figure.us, 100);
  EXPECT_THAT(AskAgain(calls, timings).answer->kept, testing::IsEmpty());
}

TEST(Alone, WhereOneWasQuickerAllIsMeasuredAnew) {
  Timings timings = OnGpu();
  timings.undisturbed = {100, 50, 0};
  std::vector<AloneCall> calls = {Took(90), Took(100)};
  ASSERT_TRUE(AskAgain(calls, timings).more());
  for (int i = 0; i < 7; ++i) calls.push_back(Took(91));
  ASSERT_TRUE(AskAgain(calls, timings).answer);
  EXPECT_EQ(AskAgain(calls, timings).answer->figure.us, 91);
  EXPECT_EQ(AskAgain(calls, timings).answer->kept.size(), 4u);
  for (size_t i = 2; i < calls.size(); ++i) calls[i] = Took(105);
  EXPECT_EQ(AskAgain(calls, timings).answer->figure.us, 100) << "the quicker one counts";
}

OffsetCalls Calls(int settling, int in_series) { return {settling, in_series, 25}; }

TEST(EmptyCalls, ThoseThatSettleDoNotCount) {
  const std::vector<double> calls = {3000, 900, 832, 828, 830, 831, 829, 833};
  EXPECT_THAT(*AskEmpty(calls, Calls(2, 2)).answer, ElementsAre(828, 829, 830, 831, 832, 833));
  EXPECT_TRUE(AskEmpty(std::span(calls).first(7), Calls(2, 2)).more());
}

TEST(EmptyCalls, ThreeSeriesInARowMustAgree) {
  const std::vector<double> calls = {830, 1630, 831, 832, 1020, 833, 829, 834};
  EXPECT_THAT(*AskEmpty(calls, Calls(0, 1)).answer, ElementsAre(829, 833, 834));
  EXPECT_EQ(AskEmpty(std::span(calls).first(2), Calls(0, 1)).pause_ms, 0);
  EXPECT_EQ(AskEmpty(std::span(calls).first(3), Calls(0, 1)).pause_ms, 5);
  EXPECT_EQ(AskEmpty(std::span(calls).first(7), Calls(0, 1)).pause_ms, 80);
}

TEST(EmptyCalls, AgreeingIsWithinTheBound) {
  EXPECT_TRUE(AskEmpty(std::vector<double>{30, 55, 31}, Calls(0, 1)).answer);
  EXPECT_TRUE(AskEmpty(std::vector<double>{30, 55.1, 31}, Calls(0, 1)).more());
}

TEST(EmptyCalls, OneCallThatTookLongDisturbsNoSeries) {
  const std::vector<double> calls = {830, 2829, 834, 830, 831, 829, 832, 833, 835};
  EXPECT_THAT(*AskEmpty(calls, Calls(0, 3)).answer, ElementsAre(829, 830, 830, 831, 832, 833, 834, 835, 2829));
}

TEST(EmptyCalls, WhereTenSeriesWereDisturbedThereIsNothing) {
  std::vector<double> us;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(AskEmpty(us, Calls(0, 1)).more());
    us.push_back(i % 2 == 0 ? 830 : 1830);
  }
  EXPECT_TRUE(AskEmpty(us, Calls(0, 1)).busy);
}

TEST(EmptyCalls, HowManyIsUpToHowShortTheBaselineIs) {
  Timings timings = OnGpu();
  timings.undisturbed.us = 100;
  EXPECT_EQ(RunnerOffsetCalls(timings).in_series, 4);
  timings.undisturbed.us = 5'000;
  EXPECT_EQ(RunnerOffsetCalls(timings).in_series, 2);
  EXPECT_DOUBLE_EQ(RunnerOffsetCalls(timings).agree_us, 50);
}

}  // namespace
}  // namespace kb
