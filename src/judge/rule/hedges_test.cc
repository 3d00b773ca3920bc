#include "judge/rule/hedges.h"

#include <gtest/gtest.h>

#include "judge/devices/device_kind.h"
#include "judge/rule/void_rounds.h"

namespace kb {
namespace {

const Calibration kGpu = KindOfDevice("cuda")->calibration;

// A candidate that takes as long as its baseline of 1000 us, on a GPU.
Timings Even() {
  Timings timings;
  timings.setting.device = "cuda";
  timings.calibration = KindOfDevice("cuda")->calibration;
  timings.setting.module = false;
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

TEST(Hedges, WhatSlowsBothSidesIsInsideTheInterval) {
  Timings timings = Even();
  timings.speedup->candidate_us = 2'000;  // the machine became half as fast once the baseline had been measured
  timings.speedup->speedup = 0.5;
  timings.speedup->low = 0.45;
  timings.speedup->high = 0.55;
  for (int i = 0; i < 5; ++i) {
    timings.rounds.push_back(RoundOf(2'000));
    timings.rounds.back().void_reason = kBaselineSlower;
  }
  AdmitVoidRounds(true, &timings);
  EXPECT_EQ(timings.rounds[0].baseline_us, 1'000);
  HedgeAgainstSlowerMachine(&timings);
  EXPECT_DOUBLE_EQ(timings.speedup->high, 1.02);
  EXPECT_EQ(timings.speedup->speedup, 0.5) << "who slows the baseline gains nothing by it";
  EXPECT_EQ(timings.speedup->low, 0.45);
}

TEST(Hedges, RoundsThatCountAsTheyAreRaiseNothing) {
  Timings timings = Even();
  timings.rounds = {RoundOf(2'000)};
  HedgeAgainstSlowerMachine(&timings);
  EXPECT_EQ(timings.speedup->high, 1.05);
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
  EXPECT_DOUBLE_EQ(forged.speedup->candidate_us, 1'000 - kGpu.processes_us);
  HedgeAgainstEvents(&forged);
  EXPECT_DOUBLE_EQ(forged.speedup->low, 0.95 * (1'000 - kGpu.processes_us) / 1'000) << "not by what its events claim";

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
  EXPECT_DOUBLE_EQ(disturbed.OffsetUncertaintyUs(), 400 + kGpu.processes_us);
  EXPECT_DOUBLE_EQ(disturbed.CandidateUs(disturbed.rounds[0]), 1'000);
}

TEST(Hedges, AdmittedRoundsReachDownToTheQuietestBaseline) {
  Timings timings = Even();
  timings.rounds = {RoundOf(1'000), RoundOf(800)};
  HedgeAgainstLoad(&timings);
  EXPECT_EQ(timings.speedup->low, 0.95);
  timings.rounds[0].admitted = true;
  HedgeAgainstLoad(&timings);
  EXPECT_DOUBLE_EQ(timings.speedup->low, 0.8 * 0.98);
}

TEST(Hedges, RoundsOnOtherInputsThanTheHeadlinesMoveNothing) {
  Timings timings = Even();
  timings.rounds = {RoundOf(1'000), RoundOf(500)};
  TimedCalls& other = timings.rounds[1];
  other.plan.distribution = "scaled";
  other.admitted = true;
  other.disturbed_us = 3'000;
  HedgeAgainstLoad(&timings);
  HedgeAgainstSlowerMachine(&timings);
  EXPECT_EQ(timings.speedup->low, 0.95);
  EXPECT_EQ(timings.speedup->high, 1.05);
  timings.headline = "stressed";
  timings.slower_inputs["scaled"] = 1.6;
  HedgeAgainstLoad(&timings);
  HedgeAgainstSlowerMachine(&timings);
  EXPECT_DOUBLE_EQ(timings.speedup->low, 0.5 * 0.98) << "the quieter of 500 us and 1.6 times the undisturbed 1,000";
  EXPECT_DOUBLE_EQ(timings.speedup->high, 3 * 1.02);
}

}  // namespace
}  // namespace kb
