#include "judge/rule/void_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "judge/devices/device_kind.h"

namespace kb {
namespace {

using testing::IsEmpty;

// On a GPU, before the candidate was loaded: a baseline of so many microseconds, so many of them for launching.
Timings Measured(double undisturbed_us, double launch_us) {
  Timings timings;
  timings.setting.device = "cuda";
  timings.calibration = KindOfDevice("cuda")->calibration;
  timings.undisturbed.us = undisturbed_us;
  timings.undisturbed.launch_us = launch_us;
  return timings;
}

TimedCalls RoundOf(double baseline_us, double launch_us) {
  TimedCalls round;
  round.plan.scored = true;
  round.candidate_us = round.baseline_us = baseline_us;
  round.baseline.launch_us = launch_us;
  return round;
}

TEST(VoidRounds, ABaselineThatIsLaunchedMoreSlowlyCounts) {
  const Timings network = Measured(12'000, 11'950);
  EXPECT_THAT(VoidReason(RoundOf(12'100, 12'050), network), IsEmpty());
  EXPECT_THAT(VoidReason(RoundOf(20'000, 19'950), network), IsEmpty());
  EXPECT_TRUE(LaunchedSlowly(RoundOf(20'000, 19'950), network));
  EXPECT_FALSE(LaunchedSlowly(RoundOf(12'100, 12'050), network));
  EXPECT_EQ(VoidReason(RoundOf(20'000, 11'950), network), kBaselineSlower) << "the device was slower, not the host";
  EXPECT_EQ(VoidReason(RoundOf(25'000, 24'950), network), kBaselineSlower) << "no core is that much slower";
}

TEST(VoidRounds, LaunchesThatTheDeviceHidesExcuseNothing) {
  const Timings product = Measured(2'800, 30);
  EXPECT_EQ(VoidReason(RoundOf(3'200, 430), product), kBaselineSlower);
  EXPECT_THAT(VoidReason(RoundOf(2'820, 430), product), IsEmpty()) << "as undisturbed ones scatter";
}

// 2/40 at size small on an H200, with copies of another context behind it.
TEST(VoidRounds, WhereTheDeviceAloneDecidesTheReferenceDoesNotWarmUp) {
  Timings own = Measured(25.8, 10);
  own.undisturbed.spread = 0.01;
  EXPECT_EQ(VoidReason(RoundOf(40.5, 10), own), kBaselineSlower);
  EXPECT_THAT(VoidReason(RoundOf(26.7, 10), own), IsEmpty()) << "as undisturbed ones scatter";
  own.undisturbed.launch_us = 680;
  EXPECT_THAT(VoidReason(RoundOf(40.5, 680), own), IsEmpty()) << "where launches show, hosts differ by as much";
}

// 1/23 on an H200: a softmax of scaled inputs takes 10.3 ms, one of natural ones 6.4.
TEST(VoidRounds, InputsThatTheReferenceIsSlowerOnAreNoDisturbance) {
  Timings softmax = Measured(6'360, 30);
  TimedCalls scaled = RoundOf(10'300, 30);
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

// A machine on which the call of this number takes what `us` says, on natural inputs or on others.
using CallsOf = std::function<CallTimes(bool natural, int call)>;
CallsOf Takes(std::function<double(bool natural, int call)> us) {
  return [us = std::move(us)](bool natural, int call) { return CallTimes{.us = us(natural, call), .launch_us = 30}; };
}

// How long its baseline takes on other inputs, and after how many calls that is known.
std::pair<Duration, size_t> Ask(const Timings& timings, const CallsOf& machine) {
  std::vector<CallTimes> calls;
  for (;;) {
    const auto asked = AskPairs(calls, timings);
    if (asked.answer) return {*asked.answer, calls.size()};
    const int call = static_cast<int>(calls.size());
    calls.push_back(machine(call % 2 == 1, call));
  }
}

TEST(VoidRounds, HowLongTheReferenceTakesOnOtherInputsIsOfPairs) {
  const Timings timings = Measured(6'360, 30);
  const auto [softmax, calls] =
      Ask(timings, Takes([](bool natural, int call) { return (natural ? 6'400 : 10'300) * (call == 3 ? 2.0 : 1.0); }));
  EXPECT_NEAR(softmax.times, 10'300. / 6'400, 1e-9);
  EXPECT_EQ(calls, 10);

  const auto [alike, fewer] = Ask(timings, Takes([](bool, int call) { return call == 0 ? 9'000 : 6'400; }));
  EXPECT_EQ(alike.times, 1.0);
  EXPECT_EQ(fewer, 3) << "one call in a pair that is as quick as the undisturbed ones ends it";
}

// Short calls on an H200 whose host became slower for some milliseconds: 1.3 to 2.4 "times as long" on 43 modules'
// inputs.
TEST(VoidRounds, AMachineThatIsSlowForAWhileIsNoPropertyOfInputs) {
  Timings timings = Measured(170, 60);
  EXPECT_NEAR(Ask(timings, Takes([](bool, int call) { return 400 + call % 3; })).first.times, 1, 0.01);
  timings.undisturbed.spread = 0.5;
  EXPECT_NEAR(Ask(timings, Takes([](bool natural, int) { return natural ? 170 : 270; })).first.times, 270. / 170, 1e-9)
      << "a figure that scatters hides nothing that stays";
}

TEST(VoidRounds, OtherLoadAnswersNoQuestion) {
  const auto busy_at_first = [](bool natural, int call) {
    if (call >= 4) return CallTimes{.us = natural ? 6'360. : 12'720., .launch_us = 30};
    return CallTimes{.us = natural ? 25'000. : 13'000., .launch_us = 30, .gap_us = natural ? 500. : 0.};
  };
  const auto [answer, calls] = Ask(Measured(6'360, 30), busy_at_first);
  EXPECT_NEAR(answer.times, 2, 1e-9) << "something else used the device before two natural calls";
  EXPECT_TRUE(answer.certain);
  EXPECT_EQ(calls, 14);
}

TEST(VoidRounds, WhereOtherLoadDisturbsAllTheLeastCallsCount) {
  const auto busy = [](bool natural, int call) {
    return CallTimes{.us = (natural ? 6'400. : 12'800.) * ((call + 1) % 4 > 1 ? 3 : 1), .launch_us = 30, .gap_us = 500};
  };
  const auto [answer, calls] = Ask(Measured(6'360, 30), busy);
  EXPECT_NEAR(answer.times, 2, 1e-9);
  EXPECT_FALSE(answer.certain) << "the next evaluation asks again";
  EXPECT_EQ(calls, 40);
}

// A ReLU of two cores that waits for 40 ms besides, where other load makes the short calls longer unseen.
TEST(VoidRounds, OnTheCpuTheLeastCallsCount) {
  Timings timings = Measured(1'200, 0);
  timings.setting.device = "cpu";
  timings.calibration = KindOfDevice("cpu")->calibration;
  const auto answer =
      Ask(timings,
          Takes([](bool natural, int call) { return natural ? (call == 5 ? 1'230. : 2'250.) : 41'700. + call; }))
          .first;
  EXPECT_NEAR(answer.times, 41'700. / 1'230, 1e-9);
  EXPECT_TRUE(answer.certain);
}

TEST(VoidRounds, OnTheCpuNothingIsLaunched) {
  Timings timings = Measured(1'000, 0);
  timings.setting.device = "cpu";
  timings.calibration = KindOfDevice("cpu")->calibration;
  EXPECT_THAT(VoidReason(RoundOf(1'140, 0), timings), IsEmpty());
  EXPECT_EQ(VoidReason(RoundOf(1'160, 0), timings), kBaselineSlower);
}

// What has been admitted meanwhile was early all the same.
TEST(VoidRounds, WhoStartsEarlyInHalfOfTheRoundsHasTampered) {
  Timings timings = Measured(1'000, 10);
  for (int i = 0; i < 10; ++i) {
    timings.rounds.push_back(RoundOf(1'000, 10));
    timings.rounds.back().candidate.gap_us = i < 5 ? 300 : 0;
    timings.rounds.back().void_reason = VoidReason(timings.rounds.back(), timings);
  }
  AdmitVoidRounds(false, &timings);
  EXPECT_EQ(StartedEarly(timings).rounds, 5);
  EXPECT_EQ(StartedEarly(timings).of, 10);
  timings.rounds.pop_back();
  timings.rounds.front().candidate.gap_us = 0;
  EXPECT_EQ(StartedEarly(timings).rounds, 0);
  for (int i = 0; i < 10; ++i) {
    timings.rounds.push_back(RoundOf(1'000, 10));
    timings.rounds.back().plan.scored = false;
    timings.rounds.back().candidate.gap_us = 300;
  }
  EXPECT_EQ(StartedEarly(timings).rounds, 0) << "during warm-up other runners start";
}

// Ten times as slow as its baseline, in five rounds of which one is void.
Timings FarTooSlow() {
  Timings timings = Measured(1'000, 10);
  timings.protocol.slow_below = 0.5;
  timings.protocol.round_checks = {5, 10};
  for (int i = 0; i < 5; ++i) {
    timings.rounds.push_back(RoundOf(i == 4 ? 1'500 : 1'000, 10));
    timings.rounds.back().plan.distribution = "natural";
    timings.rounds.back().candidate_us = 10'000;
    timings.rounds.back().void_reason = VoidReason(timings.rounds.back(), timings);
  }
  return timings;
}

TEST(VoidRounds, DoNotMatterToACandidateThatIsFarTooSlow) {
  EXPECT_TRUE(SlowThroughout(FarTooSlow()));
  Timings timings = FarTooSlow();
  timings.rounds.pop_back();
  EXPECT_FALSE(SlowThroughout(timings)) << "four rounds are too few";
  timings = FarTooSlow();
  timings.rounds[1].candidate_us = 4'000;
  EXPECT_FALSE(SlowThroughout(timings)) << "once at a quarter of the baseline's speed";
  timings = FarTooSlow();
  timings.rounds[4].baseline_us = 2'500;
  EXPECT_FALSE(SlowThroughout(timings)) << "a slower baseline speaks for it";
  timings = FarTooSlow();
  timings.rounds[0].candidate.gap_us = 300;
  EXPECT_FALSE(SlowThroughout(timings)) << "who uses the device before its call is asked why";
  timings = FarTooSlow();
  timings.rounds[3].plan.scored = false;
  EXPECT_FALSE(SlowThroughout(timings)) << "a warm-up round is none";
  timings = FarTooSlow();
  for (TimedCalls& round : timings.rounds) round.void_reason = "other load during the baseline";
  EXPECT_FALSE(SlowThroughout(timings)) << "that may be what made it slow";
  for (TimedCalls& round : timings.rounds) round.candidate_us = 100'000;
  EXPECT_TRUE(SlowThroughout(timings)) << "not a hundred times as slow as the baseline";
  timings.rounds[2].candidate_us = 40'000;
  EXPECT_FALSE(SlowThroughout(timings)) << "nor once only";
  timings = FarTooSlow();
  timings.offset_us = 9'000;
  EXPECT_FALSE(SlowThroughout(timings)) << "what an empty call takes is no slowness of the candidate's";
  timings = FarTooSlow();
  timings.protocol.slow_below = 0;
  EXPECT_FALSE(SlowThroughout(timings)) << "this protocol measures everything to the end";
}

TEST(VoidRounds, BaselinesThatStaySlowLetNothingElseIn) {
  Timings timings = Measured(1'000, 10);
  timings.rounds = {RoundOf(1'300, 10), RoundOf(1'000, 10)};
  timings.rounds[1].candidate.gap_us = 300;
  for (TimedCalls& round : timings.rounds) round.void_reason = VoidReason(round, timings);
  AdmitVoidRounds(true, &timings);
  EXPECT_THAT(timings.rounds[0].void_reason, IsEmpty());
  EXPECT_EQ(timings.rounds[0].baseline_us, 1'000) << "the undisturbed figure";
  EXPECT_NE(timings.rounds[1].void_reason, "");
  AdmitVoidRounds(false, &timings);
  EXPECT_THAT(timings.rounds[1].void_reason, IsEmpty());
}

// Whatever a round was void for.
TEST(VoidRounds, NoSlowBaselineIsLetIn) {
  Timings timings = Measured(1'000, 10);
  timings.rounds = {RoundOf(1'900, 10), RoundOf(990, 10)};
  for (TimedCalls& round : timings.rounds) round.void_reason = "other load during the baseline";
  AdmitVoidRounds(false, &timings);
  EXPECT_EQ(timings.rounds[0].baseline_us, 1'000);
  EXPECT_EQ(timings.rounds[0].disturbed_us, 1'900) << "for the interval's high end";
  EXPECT_EQ(timings.rounds[1].baseline_us, 990);
  EXPECT_EQ(timings.rounds[1].disturbed_us, 0);
  EXPECT_THAT(timings.notes, testing::Contains(testing::StartsWith("machine_busy")));
  EXPECT_THAT(timings.notes, testing::Contains(testing::StartsWith("baseline_disturbed")));
  CountWith({.us = 700}, &timings);
  for (const TimedCalls& round : timings.rounds)
    EXPECT_EQ(round.baseline_us, 700) << "what was found quicker later, too";
  EXPECT_EQ(timings.rounds[0].disturbed_us, 1'900);
}

}  // namespace
}  // namespace kb
