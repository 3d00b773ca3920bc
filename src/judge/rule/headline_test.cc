#include "judge/rule/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/devices/device_kind.h"

namespace kb {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

auto Says(const char* begin) { return testing::Field(&Note::text, StartsWith(begin)); }

// A module on the CPU whose baseline takes 1000 us by itself.
Timings OfModule() {
  Timings timings;
  timings.setting.device = "cpu";
  timings.calibration = KindOfDevice("cpu")->calibration;
  timings.setting.module = true;
  timings.setting.floor = {0, 0.12};
  timings.undisturbed.us = 1'000;
  return timings;
}

void AddRounds(int count, const std::string& distribution, double candidate_us, double baseline_us, Timings* timings) {
  for (int i = 0; i < count; ++i) {
    TimedCalls round;
    round.plan.index = static_cast<int64_t>(timings->rounds.size());
    round.plan.distribution = distribution;
    round.plan.scored = true;
    round.candidate_us = candidate_us;
    round.baseline_us = baseline_us;
    timings->rounds.push_back(round);
  }
}

// Ten rounds on natural inputs, in which the candidate takes 1000 us, and some on centred ones.
Timings Chosen(double natural_baseline_us, int others, double candidate_us, double baseline_us) {
  Timings timings = OfModule();
  AddRounds(10, "natural", 1'000, natural_baseline_us, &timings);
  AddRounds(others, "centred", candidate_us, baseline_us, &timings);
  ChooseHeadline(&timings);
  return timings;
}

TEST(Headline, IsOfTheInputsThatAreCertainlySlower) {
  const Timings timings = Chosen(1'000, kStressedRounds, 4'000, 1'000);
  EXPECT_EQ(timings.headline, "centred");
  EXPECT_DOUBLE_EQ(timings.speedup->speedup, 0.25);
  EXPECT_THAT(timings.notes, Contains(Says("slower_elsewhere: 1.00x on natural inputs, 0.25x")));
}

TEST(Headline, FewerRoundsThanAnIntervalNeedsProveNothing) {
  const Timings timings = Chosen(1'000, kStressedRounds - 1, 4'000, 1'000);
  EXPECT_EQ(timings.headline, "natural");
}

TEST(Headline, WhatTheReferenceIsSlowerOnTooIsNoSlowness) {
  const Timings timings = Chosen(1'000, kStressedRounds, 40'000, 40'000);
  EXPECT_EQ(timings.headline, "natural");
}

// A candidate that is even everywhere seemed faster on natural inputs.
TEST(Headline, WhatSlowedTheBaselineOfNaturalRoundsIsNoSlownessElsewhere) {
  const Timings timings = Chosen(2'500, kStressedRounds, 40'000, 40'000);
  EXPECT_EQ(timings.headline, "natural");
  EXPECT_THAT(timings.notes, Not(Contains(Says("slower_elsewhere"))));
  EXPECT_LE(timings.speedup->low, 1) << "the interval reaches down to the undisturbed baseline";
}

TEST(Headline, ASlowedBaselineHidesNoCertainSlowness) {
  const Timings timings = Chosen(1'200, kStressedRounds, 4'000, 1'200);
  EXPECT_EQ(timings.headline, "centred");
  EXPECT_NEAR(timings.speedup->speedup, 1'200. / 4'000, 1e-9);
}

// On a GPU: the judge's clock says `clock_us` for either side, within 20 us, and the candidate's events `event_us`.
Timings ByEvents(double clock_us, double event_us) {
  Timings timings;
  timings.setting.device = "cuda";
  timings.calibration = KindOfDevice("cuda")->calibration;
  timings.setting.module = false;
  timings.setting.floor = {10, 0.02};
  timings.offset_us = timings.reference_offset_us = 800;
  timings.offset_spread_us = timings.reference_spread_us = 5;
  timings.undisturbed.us = clock_us;
  AddRounds(20, "natural", 800 + clock_us, clock_us, &timings);
  for (TimedCalls& round : timings.rounds) {
    round.baseline_clock_us = clock_us;
    round.candidate_event_us = event_us;
  }
  return timings;
}

TEST(Headline, IsNeverAboveTwiceWhatIsCertain) {
  Timings honest = ByEvents(100, 99);
  ConcludeSpeedup(&honest);
  EXPECT_EQ(honest.no_speedup, "");
  EXPECT_FALSE(honest.by_clock);
  EXPECT_NEAR(honest.speedup->speedup, 1.01, 0.01);

  Timings made_up = ByEvents(16, 1);
  ConcludeSpeedup(&made_up);
  EXPECT_EQ(made_up.no_speedup, "too_short");

  EXPECT_FALSE(made_up.by_clock) << "samples are told as ever";

  // By events 1.7 times, which the offset's uncertainty allows, and by the clock as fast as the baseline.
  Timings uncertain = ByEvents(100, 55);
  uncertain.offset_spread_us = 25;
  ConcludeSpeedup(&uncertain);
  EXPECT_EQ(uncertain.no_speedup, "");
  EXPECT_TRUE(uncertain.by_clock);
  EXPECT_NEAR(uncertain.speedup->speedup, 1, 0.01);
  EXPECT_THAT(uncertain.notes, Contains(Says("by_clock: by the candidate's events it would be 1.67x")));
}

TEST(Headline, ReachesDownToTheUndisturbedBaselineOnAGpu) {
  Timings timings = ByEvents(1'000, 1'000);
  ConcludeSpeedup(&timings);
  const double low = timings.speedup->low;
  timings = ByEvents(1'000, 1'000);
  timings.undisturbed.us = 900;
  ConcludeSpeedup(&timings);
  EXPECT_NEAR(timings.speedup->low, 0.9 * low, 0.01);
}

// A call that launches for 1300 us, of which 850 hide behind the device's being held.
TEST(Headline, TheFloorGrowsWithWhatTheHostLaunches) {
  Timings timings;
  timings.setting.device = "cuda";
  timings.calibration = KindOfDevice("cuda")->calibration;
  timings.setting.module = true;
  timings.setting.floor = {10, 0.02};
  timings.undisturbed.us = 450;
  timings.undisturbed.launch_us = 500;
  AddRounds(10, "natural", 450, 450, &timings);
  AddRounds(10, "centred", 900, 900, &timings);
  for (TimedCalls& round : timings.rounds) round.baseline.launch_us = 1'300;
  EXPECT_DOUBLE_EQ(FloorOf(timings, "natural"), 0.005) << "launches that hide";
  timings.undisturbed.launch_us = 1'300;
  EXPECT_DOUBLE_EQ(FloorOf(timings, "natural"), 0.07 * 1'300 / 450);
  EXPECT_DOUBLE_EQ(FloorOf(timings, "centred"), 0.07 * 1'300 / 900);
}

}  // namespace
}  // namespace kb
