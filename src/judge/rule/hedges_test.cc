#include "judge/rule/hedges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/devices/device_kind.h"

namespace kb {
namespace {

const Calibration kGpu = KindOfDevice("cuda")->calibration;
constexpr Floor kGpuFloor{10, 0.02};

// A candidate that takes as long as its baseline of 1000 us, on a GPU.
Timings Even() {
  Timings timings;
  timings.setting.device = "cuda";
  timings.calibration = KindOfDevice("cuda")->calibration;
  timings.setting.module = false;
  timings.setting.floor = kGpuFloor;
  timings.undisturbed.us = 1'000;
  Speedup speedup;
  speedup.speedup = 1;
  speedup.low = 0.95;
  speedup.high = 1.05;
  speedup.candidate_us = 1'000;
  speedup.floor = 0.02;
  timings.speedup = speedup;
  return timings;
}

TimedCalls RoundOf(double baseline_us) {
  TimedCalls round;
  round.candidate_us = baseline_us;
  round.baseline_us = baseline_us;
  round.plan.scored = true;
  return round;
}

// A candidate of 500 us whose baseline took `in_rounds_us` in the rounds and 1000 us by itself.
Timings Slowed(double in_rounds_us) {
  Timings timings = Even();
  const double speedup = in_rounds_us / 500;
  timings.speedup = Speedup{.speedup = speedup, .low = speedup * 0.95, .high = speedup * 1.05};
  timings.speedup->candidate_us = 500;
  timings.speedup->baseline_us = in_rounds_us;
  timings.speedup->floor = 0.02;
  return timings;
}

TEST(Hedges, WhoSlowsTheBaselineGainsTheFloorAtMost) {
  Timings timings = Slowed(3'000);
  HedgeAgainstSlowedBaseline(&timings);
  EXPECT_DOUBLE_EQ(timings.speedup->low, 2 * 0.98);
  EXPECT_DOUBLE_EQ(timings.speedup->speedup, 2 * 1.02);
  EXPECT_DOUBLE_EQ(timings.speedup->high, 6 * 1.05) << "the machine may have slowed both";
}

TEST(Hedges, TheIntervalHoldsTheBaselineByItself) {
  Timings slowed = Slowed(1'015), quicker = Slowed(800);
  HedgeAgainstSlowedBaseline(&slowed);
  EXPECT_DOUBLE_EQ(slowed.speedup->speedup, 1'015. / 500) << "within the floor";
  EXPECT_DOUBLE_EQ(slowed.speedup->low, 1'015. / 500 * 0.95);
  HedgeAgainstSlowedBaseline(&quicker);
  EXPECT_DOUBLE_EQ(quicker.speedup->speedup, 800. / 500) << "nothing makes a baseline quicker than it is";
  EXPECT_DOUBLE_EQ(quicker.speedup->low, 800. / 500 * 0.95);
  EXPECT_DOUBLE_EQ(quicker.speedup->high, 2 * 1.02);
}

TEST(Hedges, OtherInputsHaveNoBaselineByItself) {
  Timings timings = Slowed(3'000);
  timings.headline = "scaled";
  HedgeAgainstSlowedBaseline(&timings);
  EXPECT_EQ(timings.speedup->speedup, 6);
  EXPECT_EQ(timings.speedup->low, 6 * 0.95);
}

// Events count, which a candidate may make up.
Timings ByEvents(double clock_us, double event_us, bool module) {
  Timings timings = Even();
  timings.setting.module = module;
  timings.offset_us = timings.reference_offset_us = 600;
  TimedCalls round = RoundOf(clock_us + 600);
  round.candidate_event_us = event_us;
  timings.rounds = {round};
  timings.speedup->candidate_us = timings.CandidateUs(round);
  return timings;
}

TEST(Hedges, TheLowEndIsThatOfTheJudgesClock) {
  Timings honest = ByEvents(1'000, 1'000, false);
  HedgeAgainstEvents(&honest);
  EXPECT_DOUBLE_EQ(honest.speedup->low, 0.95)
      << "launches hide on both sides, so nothing is to be gained by hiding them";

  Timings forged = ByEvents(1'000, 970, false);
  EXPECT_DOUBLE_EQ(forged.speedup->candidate_us, 1'000 - kGpuFloor.us);
  HedgeAgainstEvents(&forged);
  EXPECT_DOUBLE_EQ(forged.speedup->low, 0.95 * (1'000 - kGpuFloor.us) / 1'000) << "not by what its events claim";

  Timings module = ByEvents(1'000, 1'000 - kGpu.module_us, true);
  EXPECT_DOUBLE_EQ(module.speedup->candidate_us, 1'000 - kGpu.module_us) << "what its runner does is in no event";
  HedgeAgainstEvents(&module);
  EXPECT_DOUBLE_EQ(module.speedup->low, 0.95 * (1'000 - kGpu.module_us) / 1'000);
}

// The device is held for a while after go. What a candidate computes meanwhile on the host is no time that the judge
// took from it.
TEST(Hedges, WhoAnswersBeforeTheDeviceWasFreeGetsTheWholeSpan) {
  const Timings on_host = ByEvents(-300, 0, false);
  EXPECT_DOUBLE_EQ(on_host.ClockUs(on_host.rounds[0]), 300);
  EXPECT_DOUBLE_EQ(on_host.CandidateUs(on_host.rounds[0]), 300);
  const Timings quick = ByEvents(-5, 4, false);
  EXPECT_LT(quick.CandidateUs(quick.rounds[0]), 20) << "an offset errs by some microseconds";
}

TEST(Hedges, AnOffsetThatTheOtherSideDoesNotHaveIsUncertain) {
  Timings disturbed = ByEvents(600, 1'000, false);
  EXPECT_DOUBLE_EQ(disturbed.CandidateUs(disturbed.rounds[0]), 600) << "events far from the clock do not count";
  disturbed.reference_offset_us -= 400;  // the candidate's was measured while a runner started
  EXPECT_DOUBLE_EQ(disturbed.OffsetUncertaintyUs(), 400 + kGpuFloor.us);
  EXPECT_DOUBLE_EQ(disturbed.CandidateUs(disturbed.rounds[0]), 1'000);
}

}  // namespace
}  // namespace kb
