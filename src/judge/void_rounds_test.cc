#include "judge/void_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

namespace kb {
namespace {

using testing::IsEmpty;

// On a GPU, before the candidate was loaded: a baseline of so many microseconds, so many of them for launching.
Evaluation Measured(double undisturbed_us, double launch_us) {
  Evaluation evaluation;
  evaluation.device = "cuda";
  evaluation.undisturbed.us = undisturbed_us;
  evaluation.undisturbed.launch_us = launch_us;
  return evaluation;
}

Round RoundOf(double baseline_us, double launch_us) {
  Round round;
  round.plan.scored = true;
  round.candidate_us = round.baseline_us = baseline_us;
  round.baseline_launch_us = launch_us;
  return round;
}

TEST(VoidRounds, ABaselineThatIsLaunchedMoreSlowlyCounts) {
  const Evaluation network = Measured(12'000, 11'950);
  EXPECT_THAT(VoidReason(RoundOf(12'100, 12'050), network), IsEmpty());
  EXPECT_THAT(VoidReason(RoundOf(20'000, 19'950), network), IsEmpty());
  EXPECT_TRUE(LaunchedSlowly(RoundOf(20'000, 19'950), network));
  EXPECT_FALSE(LaunchedSlowly(RoundOf(12'100, 12'050), network));
  EXPECT_EQ(VoidReason(RoundOf(20'000, 11'950), network), kBaselineSlower) << "the device was slower, not the host";
  EXPECT_EQ(VoidReason(RoundOf(25'000, 24'950), network), kBaselineSlower) << "no core is that much slower";
}

TEST(VoidRounds, LaunchesThatTheDeviceHidesExcuseNothing) {
  const Evaluation product = Measured(2'800, 30);
  EXPECT_EQ(VoidReason(RoundOf(3'200, 430), product), kBaselineSlower);
  EXPECT_THAT(VoidReason(RoundOf(2'860, 430), product), IsEmpty()) << "within what an interval allows for";
}

// 2/40 at size small on an H200, with copies of another context behind it.
TEST(VoidRounds, AReferenceWithAProcessOfItsOwnDoesNotWarmUp) {
  Evaluation own = Measured(25.8, 10);
  own.undisturbed.spread = 0.01;
  EXPECT_THAT(VoidReason(RoundOf(40.5, 10), own), IsEmpty());
  own.own_process = true;
  EXPECT_EQ(VoidReason(RoundOf(40.5, 10), own), kBaselineSlower);
  EXPECT_THAT(VoidReason(RoundOf(26.7, 10), own), IsEmpty()) << "as undisturbed ones scatter";
  own.undisturbed.launch_us = 680;
  EXPECT_THAT(VoidReason(RoundOf(40.5, 680), own), IsEmpty()) << "where launches show, hosts differ by as much";
}

// 1/23 on an H200: a softmax of scaled inputs takes 10.3 ms, one of natural ones 6.4.
TEST(VoidRounds, InputsThatTheReferenceIsSlowerOnAreNoDisturbance) {
  Evaluation softmax = Measured(6'360, 30);
  Round scaled = RoundOf(10'300, 30);
  scaled.plan.distribution = "scaled";
  EXPECT_EQ(VoidReason(scaled, softmax), kBaselineSlower);
  softmax.slower_inputs["scaled"] = 1.62;
  EXPECT_THAT(VoidReason(scaled, softmax), IsEmpty());
  EXPECT_EQ(VoidReason(RoundOf(10'300, 30), softmax), kBaselineSlower) << "natural ones are";
  scaled.baseline_us = 11'000;
  scaled.void_reason = VoidReason(scaled, softmax);
  EXPECT_EQ(scaled.void_reason, kBaselineSlower) << "and what slows it further is one";
  softmax.rounds = {scaled};
  AdmitVoidRounds(true, &softmax);
  EXPECT_NEAR(softmax.rounds[0].baseline_us, 10'303, 1) << "the undisturbed figure of such inputs";
}

// A machine on which calls of the baseline take what `us` says for a distribution and the number of the call.
std::function<Result<Round>(const std::string&)> Calls(std::function<double(bool natural, int call)> us, int* calls) {
  return [us = std::move(us), calls](const std::string& distribution) -> Result<Round> {
    Round round = RoundOf(us(distribution == "natural", (*calls)++), 30);
    round.plan.distribution = distribution;
    return round;
  };
}

TEST(VoidRounds, HowLongTheReferenceTakesOnOtherInputsIsOfPairs) {
  Evaluation evaluation = Measured(6'360, 30);
  int calls = 0;
  const auto softmax = [](bool natural, int call) { return (natural ? 6'400 : 10'300) * (call == 3 ? 2.0 : 1.0); };
  EXPECT_NEAR(TimesAsLong("scaled", evaluation, Calls(softmax, &calls)).value().times, 10'300. / 6'400, 1e-9);
  EXPECT_EQ(calls, 10);

  calls = 0;
  const auto alike = [](bool, int call) { return call == 0 ? 9'000 : 6'400; };
  EXPECT_EQ(TimesAsLong("scaled", evaluation, Calls(alike, &calls)).value().times, 1.0);
  EXPECT_EQ(calls, 3) << "one call in a pair that is as quick as the undisturbed ones ends it";
}

// Short calls on an H200 whose host became slower for some milliseconds: 1.3 to 2.4 "times as long" on 43 modules'
// inputs.
TEST(VoidRounds, AMachineThatIsSlowForAWhileIsNoPropertyOfInputs) {
  Evaluation evaluation = Measured(170, 60);
  int calls = 0;
  const auto slow = [](bool, int call) { return 400 + call % 3; };
  EXPECT_NEAR(TimesAsLong("centred", evaluation, Calls(slow, &calls)).value().times, 1, 0.01);
  evaluation.undisturbed.spread = 0.5;
  EXPECT_NEAR(TimesAsLong("centred", evaluation, Calls([](bool natural, int) { return natural ? 170 : 270; }, &calls))
                  .value()
                  .times,
              270. / 170, 1e-9)
      << "a figure that scatters hides nothing that stays";
}

TEST(VoidRounds, OtherLoadAnswersNoQuestion) {
  const Evaluation evaluation = Measured(6'360, 30);
  int calls = 0;
  const auto busy_at_first = [&](const std::string& distribution) -> Result<Round> {
    Round round = RoundOf(distribution == "natural" ? 6'360 : 12'720, 30);
    if (++calls <= 4) {
      round.baseline_us = distribution == "natural" ? 25'000 : 13'000;
      round.baseline_gap_us = calls % 2 == 0 ? 500 : 0;
    }
    return round;
  };
  const Duration answer = TimesAsLong("scaled", evaluation, busy_at_first).value();
  EXPECT_NEAR(answer.times, 2, 1e-9) << "something else used the device before two natural calls";
  EXPECT_TRUE(answer.certain);
  EXPECT_EQ(calls, 14);
}

TEST(VoidRounds, WhereOtherLoadDisturbsAllTheLeastCallsCount) {
  const Evaluation evaluation = Measured(6'360, 30);
  int calls = 0;
  const auto busy = [&](const std::string& distribution) -> Result<Round> {
    Round round = RoundOf((distribution == "natural" ? 6'400 : 12'800) * (++calls % 4 > 1 ? 3 : 1), 30);
    round.baseline_gap_us = 500;
    return round;
  };
  const Duration answer = TimesAsLong("scaled", evaluation, busy).value();
  EXPECT_NEAR(answer.times, 2, 1e-9);
  EXPECT_FALSE(answer.certain) << "the next evaluation asks again";
  EXPECT_EQ(calls, 40);
}

// A ReLU of two cores that waits for 40 ms besides, where other load makes the short calls longer unseen.
TEST(VoidRounds, OnTheCpuTheLeastCallsCount) {
  Evaluation evaluation = Measured(1'200, 0);
  evaluation.device = "cpu";
  int calls = 0;
  const auto waits = [](bool natural, int call) { return natural ? (call == 5 ? 1'230. : 2'250.) : 41'700. + call; };
  const Duration answer = TimesAsLong("sparse", evaluation, Calls(waits, &calls)).value();
  EXPECT_NEAR(answer.times, 41'700. / 1'230, 1e-9);
  EXPECT_TRUE(answer.certain);
}

TEST(VoidRounds, OnTheCpuNothingIsLaunched) {
  Evaluation evaluation = Measured(1'000, 0);
  evaluation.device = "cpu";
  EXPECT_THAT(VoidReason(RoundOf(1'140, 0), evaluation), IsEmpty());
  EXPECT_EQ(VoidReason(RoundOf(1'160, 0), evaluation), kBaselineSlower);
}

// What has been admitted meanwhile was early all the same.
TEST(VoidRounds, WhoStartsEarlyInHalfOfTheRoundsHasTampered) {
  Evaluation evaluation = Measured(1'000, 10);
  for (int i = 0; i < 10; ++i) {
    evaluation.rounds.push_back(RoundOf(1'000, 10));
    evaluation.rounds.back().candidate_gap_us = i < 5 ? 300 : 0;
    evaluation.rounds.back().void_reason = VoidReason(evaluation.rounds.back(), evaluation);
  }
  AdmitVoidRounds(false, &evaluation);
  ASSERT_TRUE(StartedEarly(evaluation));
  EXPECT_EQ(StartedEarly(evaluation)->verdict, Verdict::kTampered);
  evaluation.rounds.pop_back();
  evaluation.rounds.front().candidate_gap_us = 0;
  EXPECT_FALSE(StartedEarly(evaluation));
  for (int i = 0; i < 10; ++i) {
    evaluation.rounds.push_back(RoundOf(1'000, 10));
    evaluation.rounds.back().plan.scored = false;
    evaluation.rounds.back().candidate_gap_us = 300;
  }
  EXPECT_FALSE(StartedEarly(evaluation)) << "during warm-up other runners start";
}

// Ten times as slow as its baseline, in five rounds of which one is void.
Evaluation FarTooSlow() {
  Evaluation evaluation = Measured(1'000, 10);
  evaluation.protocol.slow_below = 0.5;
  evaluation.protocol.round_checks = {5, 10};
  for (int i = 0; i < 5; ++i) {
    evaluation.rounds.push_back(RoundOf(i == 4 ? 1'500 : 1'000, 10));
    evaluation.rounds.back().plan.distribution = "natural";
    evaluation.rounds.back().candidate_us = 10'000;
    evaluation.rounds.back().void_reason = VoidReason(evaluation.rounds.back(), evaluation);
  }
  return evaluation;
}

TEST(VoidRounds, DoNotMatterToACandidateThatIsFarTooSlow) {
  EXPECT_TRUE(SlowThroughout(FarTooSlow()));
  Evaluation evaluation = FarTooSlow();
  evaluation.rounds.pop_back();
  EXPECT_FALSE(SlowThroughout(evaluation)) << "four rounds are too few";
  evaluation = FarTooSlow();
  evaluation.rounds[1].candidate_us = 4'000;
  EXPECT_FALSE(SlowThroughout(evaluation)) << "once at a quarter of the baseline's speed";
  evaluation = FarTooSlow();
  evaluation.rounds[4].baseline_us = 2'500;
  EXPECT_FALSE(SlowThroughout(evaluation)) << "a slower baseline speaks for it";
  evaluation = FarTooSlow();
  evaluation.rounds[0].candidate_gap_us = 300;
  EXPECT_FALSE(SlowThroughout(evaluation)) << "who uses the device before its call is asked why";
  evaluation = FarTooSlow();
  evaluation.rounds[3].plan.scored = false;
  EXPECT_FALSE(SlowThroughout(evaluation)) << "a warm-up round is none";
  evaluation = FarTooSlow();
  for (Round& round : evaluation.rounds) round.void_reason = "other load during the baseline";
  EXPECT_FALSE(SlowThroughout(evaluation)) << "that may be what made it slow";
  for (Round& round : evaluation.rounds) round.candidate_us = 100'000;
  EXPECT_TRUE(SlowThroughout(evaluation)) << "not a hundred times as slow as the baseline";
  evaluation.rounds[2].candidate_us = 40'000;
  EXPECT_FALSE(SlowThroughout(evaluation)) << "nor once only";
  evaluation = FarTooSlow();
  evaluation.offset_us = 9'000;
  EXPECT_FALSE(SlowThroughout(evaluation)) << "what an empty call takes is no slowness of the candidate's";
  evaluation = FarTooSlow();
  evaluation.protocol.slow_below = 0;
  EXPECT_FALSE(SlowThroughout(evaluation)) << "this protocol measures everything to the end";
}

TEST(VoidRounds, BaselinesThatStaySlowLetNothingElseIn) {
  Evaluation evaluation = Measured(1'000, 10);
  evaluation.rounds = {RoundOf(1'300, 10), RoundOf(1'000, 10)};
  evaluation.rounds[1].candidate_gap_us = 300;
  for (Round& round : evaluation.rounds) round.void_reason = VoidReason(round, evaluation);
  AdmitVoidRounds(true, &evaluation);
  EXPECT_THAT(evaluation.rounds[0].void_reason, IsEmpty());
  EXPECT_EQ(evaluation.rounds[0].baseline_us, 1'000) << "the undisturbed figure";
  EXPECT_NE(evaluation.rounds[1].void_reason, "");
  AdmitVoidRounds(false, &evaluation);
  EXPECT_THAT(evaluation.rounds[1].void_reason, IsEmpty());
}

// Whatever a round was void for.
TEST(VoidRounds, NoSlowBaselineIsLetIn) {
  Evaluation evaluation = Measured(1'000, 10);
  evaluation.rounds = {RoundOf(1'900, 10), RoundOf(990, 10)};
  for (Round& round : evaluation.rounds) round.void_reason = "other load during the baseline";
  AdmitVoidRounds(false, &evaluation);
  EXPECT_EQ(evaluation.rounds[0].baseline_us, 1'000);
  EXPECT_EQ(evaluation.rounds[0].disturbed_us, 1'900) << "for the interval's high end";
  EXPECT_EQ(evaluation.rounds[1].baseline_us, 990);
  EXPECT_EQ(evaluation.rounds[1].disturbed_us, 0);
  EXPECT_THAT(evaluation.notes, testing::Contains(testing::StartsWith("machine_busy")));
  EXPECT_THAT(evaluation.notes, testing::Contains(testing::StartsWith("baseline_disturbed")));
  CountWith({.us = 700}, &evaluation);
  for (const Round& round : evaluation.rounds) EXPECT_EQ(round.baseline_us, 700) << "what was found quicker later, too";
  EXPECT_EQ(evaluation.rounds[0].disturbed_us, 1'900);
}

}  // namespace
}  // namespace kb
