#include "judge/hedges.h"

#include <gtest/gtest.h>

#include "judge/void_rounds.h"

namespace kb {
namespace {

// A candidate that takes as long as its baseline of 1000 us, on a GPU.
Evaluation Even() {
  Evaluation evaluation;
  evaluation.device = "cuda";
  evaluation.candidate = {{"kind", "native"}};
  evaluation.undisturbed.us = 1'000;
  Speedup speedup;
  speedup.speedup = 1;
  speedup.low = 0.95;
  speedup.high = 1.05;
  speedup.candidate_us = 1'000;
  speedup.floor = 0.02;
  evaluation.speedup = speedup;
  return evaluation;
}

Round RoundOf(double baseline_us) {
  Round round;
  round.candidate_us = baseline_us;
  round.baseline_us = baseline_us;
  round.plan.scored = true;
  return round;
}

TEST(Hedges, WhatSlowsBothSidesIsInsideTheInterval) {
  Evaluation evaluation = Even();
  evaluation.speedup->candidate_us = 2'000;  // the machine became half as fast once the baseline had been measured
  evaluation.speedup->speedup = 0.5;
  evaluation.speedup->low = 0.45;
  evaluation.speedup->high = 0.55;
  for (int i = 0; i < 5; ++i) {
    evaluation.rounds.push_back(RoundOf(2'000));
    evaluation.rounds.back().void_reason = kBaselineSlower;
  }
  AdmitVoidRounds(true, &evaluation);
  EXPECT_EQ(evaluation.rounds[0].baseline_us, 1'000);
  HedgeAgainstSlowerMachine(&evaluation);
  EXPECT_DOUBLE_EQ(evaluation.speedup->high, 1.02);
  EXPECT_EQ(evaluation.speedup->speedup, 0.5) << "who slows the baseline gains nothing by it";
  EXPECT_EQ(evaluation.speedup->low, 0.45);
}

TEST(Hedges, RoundsThatCountAsTheyAreRaiseNothing) {
  Evaluation evaluation = Even();
  evaluation.rounds = {RoundOf(2'000)};
  HedgeAgainstSlowerMachine(&evaluation);
  EXPECT_EQ(evaluation.speedup->high, 1.05);
}

// Where the reference has a process of its own, events count, which a candidate may make up.
Evaluation InOwnProcesses(double clock_us, double event_us, const char* kind) {
  Evaluation evaluation = Even();
  evaluation.candidate = {{"kind", kind}};
  evaluation.own_process = true;
  evaluation.offset_us = evaluation.reference_offset_us = 600;
  Round round = RoundOf(clock_us + 600);
  round.candidate_event_us = event_us;
  evaluation.rounds = {round};
  evaluation.speedup->candidate_us = evaluation.CandidateUs(round);
  return evaluation;
}

TEST(Hedges, TheLowEndIsThatOfTheJudgesClock) {
  Evaluation honest = InOwnProcesses(1'000, 1'000, "native");
  HedgeAgainstHiddenLaunches(&honest);
  EXPECT_DOUBLE_EQ(honest.speedup->low, 0.95)
      << "launches hide on both sides, so nothing is to be gained by hiding them";

  Evaluation forged = InOwnProcesses(1'000, 970, "native");
  EXPECT_DOUBLE_EQ(forged.speedup->candidate_us, 1'000 - kOwnProcessUs);
  HedgeAgainstHiddenLaunches(&forged);
  EXPECT_DOUBLE_EQ(forged.speedup->low, 0.95 * (1'000 - kOwnProcessUs) / 1'000) << "not by what its events claim";

  Evaluation module = InOwnProcesses(1'000, 1'000 - kOwnModuleUs, "module");
  EXPECT_DOUBLE_EQ(module.speedup->candidate_us, 1'000 - kOwnModuleUs) << "what its runner does is in no event";
  HedgeAgainstHiddenLaunches(&module);
  EXPECT_DOUBLE_EQ(module.speedup->low, 0.95 * (1'000 - kOwnModuleUs) / 1'000);
}

// The device is held for a while after go. What a candidate computes meanwhile on the host is no time that the judge
// took from it.
TEST(Hedges, WhoAnswersBeforeTheDeviceWasFreeGetsTheWholeSpan) {
  const Evaluation on_host = InOwnProcesses(-300, 0, "native");
  EXPECT_DOUBLE_EQ(on_host.ClockUs(on_host.rounds[0]), 300);
  EXPECT_DOUBLE_EQ(on_host.CandidateUs(on_host.rounds[0]), 300);
  const Evaluation quick = InOwnProcesses(-5, 4, "native");
  EXPECT_LT(quick.CandidateUs(quick.rounds[0]), 20) << "an offset errs by some microseconds";
}

TEST(Hedges, AnOffsetThatTheOtherSideDoesNotHaveIsUncertain) {
  Evaluation disturbed = InOwnProcesses(600, 1'000, "native");
  EXPECT_DOUBLE_EQ(disturbed.CandidateUs(disturbed.rounds[0]), 600) << "events far from the clock do not count";
  disturbed.reference_offset_us -= 400;  // the candidate's was measured while a runner started
  EXPECT_DOUBLE_EQ(disturbed.OffsetUncertaintyUs(), 400 + kOwnProcessUs);
  EXPECT_DOUBLE_EQ(disturbed.CandidateUs(disturbed.rounds[0]), 1'000);
}

TEST(Hedges, AdmittedRoundsReachDownToTheQuietestBaseline) {
  Evaluation evaluation = Even();
  evaluation.rounds = {RoundOf(1'000), RoundOf(800)};
  HedgeAgainstLoad(&evaluation);
  EXPECT_EQ(evaluation.speedup->low, 0.95);
  evaluation.rounds[0].admitted = true;
  HedgeAgainstLoad(&evaluation);
  EXPECT_DOUBLE_EQ(evaluation.speedup->low, 0.8 * 0.98);
}

TEST(Hedges, RoundsOnOtherInputsThanTheHeadlinesMoveNothing) {
  Evaluation evaluation = Even();
  evaluation.rounds = {RoundOf(1'000), RoundOf(500)};
  Round& other = evaluation.rounds[1];
  other.plan.distribution = "scaled";
  other.admitted = true;
  other.disturbed_us = 3'000;
  HedgeAgainstLoad(&evaluation);
  HedgeAgainstSlowerMachine(&evaluation);
  EXPECT_EQ(evaluation.speedup->low, 0.95);
  EXPECT_EQ(evaluation.speedup->high, 1.05);
  evaluation.headline = "stressed";
  evaluation.slower_inputs["scaled"] = 1.6;
  HedgeAgainstLoad(&evaluation);
  HedgeAgainstSlowerMachine(&evaluation);
  EXPECT_DOUBLE_EQ(evaluation.speedup->low, 0.5 * 0.98) << "the quieter of 500 us and 1.6 times the undisturbed 1,000";
  EXPECT_DOUBLE_EQ(evaluation.speedup->high, 3 * 1.02);
}

TEST(Hedges, LaunchesMayBeHiddenOnAGpuAlone) {
  Evaluation evaluation = Even();
  HedgeAgainstHiddenLaunches(&evaluation);
  EXPECT_DOUBLE_EQ(evaluation.speedup->low, 0.95 * 1'000 / 1'120);
  EXPECT_EQ(evaluation.speedup->high, 1.05);
  Evaluation module = Even();
  module.candidate["kind"] = "module";
  HedgeAgainstHiddenLaunches(&module);
  EXPECT_DOUBLE_EQ(module.speedup->low, 0.95 * 1'000 / 1'210);
  Evaluation cpu = Even();
  cpu.device = "cpu";
  HedgeAgainstHiddenLaunches(&cpu);
  EXPECT_EQ(cpu.speedup->low, 0.95);
}

TEST(Hedges, AModuleMayLeaveOutItsCopyOnACpuAlone) {
  const nlohmann::json problem = {{"outputs", {{{"bytes", 1'000'000}}}}};
  Evaluation module = Even();
  module.device_info = {{"copy_gb_s", 10.0}};
  module.candidate["kind"] = "module";
  HedgeAgainstLeftOutCopy(problem, &module);
  EXPECT_EQ(module.speedup->low, 0.95) << "on a GPU outputs are not copied";
  module.device = "cpu";
  HedgeAgainstLeftOutCopy(problem, &module);
  EXPECT_DOUBLE_EQ(module.speedup->low, 0.95 * 1'000 / 1'400);  // 100 us, and 300 for 3 MB
  Evaluation native = module;
  native.candidate["kind"] = "native";
  native.speedup->low = 0.95;
  HedgeAgainstLeftOutCopy(problem, &native);
  EXPECT_EQ(native.speedup->low, 0.95);
}

TEST(Hedges, AModuleMayBeQuickerThanItsColdProcessOnACpuAlone) {
  Evaluation module = Even();
  module.candidate["kind"] = "module";
  HedgeAgainstColdRunner(&module);
  EXPECT_EQ(module.speedup->high, 1.05) << "on a GPU both sides' processes are alike";
  module.device = "cpu";
  HedgeAgainstColdRunner(&module);
  EXPECT_DOUBLE_EQ(module.speedup->high, 1.05 * 1'000 / 940);
  Evaluation shorter = Even();
  shorter.device = "cpu";
  shorter.candidate["kind"] = "module";
  shorter.speedup->candidate_us = 100;
  HedgeAgainstColdRunner(&shorter);
  EXPECT_DOUBLE_EQ(shorter.speedup->high, 2 * 1.05) << "half of a call at most";
  Evaluation native = Even();
  native.device = "cpu";
  HedgeAgainstColdRunner(&native);
  EXPECT_EQ(native.speedup->high, 1.05);
}

}  // namespace
}  // namespace kb
