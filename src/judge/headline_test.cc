#include "judge/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/void_rounds.h"

namespace kb {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

// A module on the CPU whose baseline takes 1000 us by itself on natural inputs and `other_us` on centred ones.
Evaluation OfModule(double other_us) {
  Evaluation evaluation;
  evaluation.device = "cpu";
  evaluation.candidate = {{"kind", "module"}};
  evaluation.undisturbed.us = 1'000;
  evaluation.slower_inputs["centred"] = other_us / 1'000;
  return evaluation;
}

void AddRounds(int count, const std::string& distribution, double candidate_us, double baseline_us,
               Evaluation* evaluation) {
  for (int i = 0; i < count; ++i) {
    Round round;
    round.plan.index = static_cast<int64_t>(evaluation->rounds.size());
    round.plan.distribution = distribution;
    round.plan.scored = true;
    round.candidate_us = candidate_us;
    round.baseline_us = baseline_us;
    evaluation->rounds.push_back(round);
  }
}

TEST(Headline, IsOfTheInputsThatAreCertainlySlower) {
  Evaluation evaluation = OfModule(1'000);
  AddRounds(10, "natural", 1'000, 1'000, &evaluation);
  AddRounds(kStressedRounds, "centred", 4'000, 1'000, &evaluation);
  ChooseHeadline(&evaluation);
  EXPECT_EQ(evaluation.headline, "centred");
  EXPECT_DOUBLE_EQ(evaluation.speedup->speedup, 0.25);
  EXPECT_THAT(evaluation.notes, Contains(StartsWith("slower_elsewhere: 1.00x on natural inputs, 0.25x")));
}

TEST(Headline, FewerRoundsThanAnIntervalNeedsProveNothing) {
  Evaluation evaluation = OfModule(1'000);
  AddRounds(10, "natural", 1'000, 1'000, &evaluation);
  AddRounds(kStressedRounds - 1, "centred", 4'000, 1'000, &evaluation);
  ChooseHeadline(&evaluation);
  EXPECT_EQ(evaluation.headline, "natural");
}

// Load makes the baseline of short calls look slow and leaves long ones alone: a candidate that is even everywhere
// seemed faster on natural inputs.
TEST(Headline, WhatLoadDidToNaturalRoundsIsNoSlownessElsewhere) {
  Evaluation evaluation = OfModule(40'000);
  AddRounds(10, "natural", 1'000, 2'500, &evaluation);
  for (Round& round : evaluation.rounds) round.void_reason = "other load during the baseline";
  AdmitVoidRounds(false, &evaluation);
  AddRounds(kStressedRounds, "centred", 40'000, 40'000, &evaluation);
  ChooseHeadline(&evaluation);
  EXPECT_EQ(evaluation.headline, "natural");
  EXPECT_THAT(evaluation.notes, Not(Contains(StartsWith("slower_elsewhere"))));
  EXPECT_LE(evaluation.speedup->low, 1) << "the interval reaches down to the undisturbed baseline";
}

// What is slower there is so under load too, and load that a candidate makes there hides nothing.
TEST(Headline, LoadHidesNoCertainSlowness) {
  for (const char* loaded : {"natural", "centred"}) {
    Evaluation evaluation = OfModule(1'000);
    AddRounds(10, "natural", 1'000, 1'200, &evaluation);
    AddRounds(kStressedRounds, "centred", 4'000, 1'200, &evaluation);
    for (Round& round : evaluation.rounds) {
      if (round.plan.distribution == loaded) round.void_reason = "other load during the baseline";
    }
    AdmitVoidRounds(false, &evaluation);
    ChooseHeadline(&evaluation);
    EXPECT_EQ(evaluation.headline, "centred") << loaded;
    const double counts_us = loaded == std::string("centred") ? 1'000 : 1'200;  // disturbed: the undisturbed figure
    EXPECT_NEAR(evaluation.speedup->speedup, counts_us / 4'000, 1e-9) << loaded;
  }
}

// A call that launches for 1300 us, of which 850 hide behind the device's being held.
// On a GPU: the judge's clock says `clock_us` for either side, within 20 us, and the candidate's events `event_us`.
Evaluation ByEvents(double clock_us, double event_us) {
  Evaluation evaluation;
  evaluation.device = "cuda";
  evaluation.candidate = {{"kind", "native"}};
  evaluation.own_process = true;
  evaluation.offset_us = evaluation.reference_offset_us = 800;
  evaluation.offset_spread_us = evaluation.reference_spread_us = 5;
  evaluation.undisturbed.us = clock_us;
  AddRounds(20, "natural", 800 + clock_us, clock_us, &evaluation);
  for (Round& round : evaluation.rounds) {
    round.baseline_clock_us = clock_us;
    round.candidate_event_us = event_us;
  }
  return evaluation;
}

TEST(Headline, IsNeverAboveTwiceWhatIsCertain) {
  const nlohmann::json problem = {{"outputs", nlohmann::json::array()}};
  Evaluation honest = ByEvents(100, 99);
  ConcludeSpeedup(problem, &honest);
  EXPECT_EQ(honest.no_speedup, "");
  EXPECT_FALSE(honest.by_clock);
  EXPECT_NEAR(honest.speedup->speedup, 1.01, 0.01);

  Evaluation made_up = ByEvents(16, 1);
  ConcludeSpeedup(problem, &made_up);
  EXPECT_EQ(made_up.no_speedup, "too_short");

  EXPECT_FALSE(made_up.by_clock) << "samples are told as ever";

  // By events 1.7 times, which the offset's uncertainty allows, and by the clock as fast as the baseline.
  Evaluation uncertain = ByEvents(100, 55);
  uncertain.offset_spread_us = 25;
  ConcludeSpeedup(problem, &uncertain);
  EXPECT_EQ(uncertain.no_speedup, "");
  EXPECT_TRUE(uncertain.by_clock);
  EXPECT_NEAR(uncertain.speedup->speedup, 1, 0.01);
  EXPECT_THAT(uncertain.notes, Contains(StartsWith("by_clock: by the candidate's events it would be 1.67x")));
}

TEST(Headline, ReachesDownToTheUndisturbedBaselineOnAGpu) {
  Evaluation evaluation = ByEvents(1'000, 1'000);
  ConcludeSpeedup({{"outputs", nlohmann::json::array()}}, &evaluation);
  const double low = evaluation.speedup->low;
  evaluation = ByEvents(1'000, 1'000);
  evaluation.undisturbed.us = 900;
  ConcludeSpeedup({{"outputs", nlohmann::json::array()}}, &evaluation);
  EXPECT_NEAR(evaluation.speedup->low, 0.9 * low, 0.01);
}

TEST(Headline, TheFloorGrowsWithWhatTheHostLaunches) {
  Evaluation evaluation;
  evaluation.device = "cuda";
  evaluation.candidate = {{"kind", "module"}};
  evaluation.own_process = true;
  evaluation.undisturbed.us = 450;
  evaluation.undisturbed.launch_us = 500;
  AddRounds(10, "natural", 450, 450, &evaluation);
  AddRounds(10, "centred", 900, 900, &evaluation);
  for (Round& round : evaluation.rounds) round.baseline_launch_us = 1'300;
  EXPECT_DOUBLE_EQ(FloorOf(evaluation, "natural"), 0.005) << "launches that hide";
  evaluation.undisturbed.launch_us = 1'300;
  EXPECT_DOUBLE_EQ(FloorOf(evaluation, "natural"), 0.05 * 1'300 / 450);
  EXPECT_DOUBLE_EQ(FloorOf(evaluation, "centred"), 0.05 * 1'300 / 900);
  evaluation.own_process = false;
  for (Round& round : evaluation.rounds) round.baseline_launch_us = 100;
  EXPECT_DOUBLE_EQ(FloorOf(evaluation, "natural"), 0.02) << "what the device bounds in the device process";
}

}  // namespace
}  // namespace kb
