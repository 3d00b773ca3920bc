#include "judge/rule/course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "judge/devices/device_kind.h"
#include "judge/round/round.h"

namespace kb {
namespace {

using testing::ElementsAre;

Protocol Anchored(int first_check) {
  Protocol protocol;
  protocol.comparison = "anchored";
  protocol.stress_every = 2;
  protocol.warmup_rounds = 1;
  protocol.round_checks = {first_check, 40};
  return protocol;
}

// A trial on a CPU whose figures are known: the baseline takes 1000 us.
struct Trial {
  Protocol protocol;
  Measurements measured;
  std::mt19937_64 random{1};

  explicit Trial(Protocol rules) : protocol(std::move(rules)) {
    measured.setting.distributions = {"centred", "scaled", "sparse", "structured"};
    measured.setting.weight_sets = 2;
    measured.setting.floor = {0, 0.08};
  }
  Timings Known() const {
    Timings timings{.setting = measured.setting, .protocol = protocol, .calibration = KindOfDevice("cpu")->calibration};
    timings.undisturbed.us = 1'000;
    return timings;
  }
  std::optional<RoundWanted> Next() const {
    Timings timings = Known();
    return Course(measured, &timings).Next();
  }
  // Runs the next round, if there is one. `waited_us`: for cores that others had; the candidate for its own threads,
  // for all that is known.
  bool Run(double candidate_us, double baseline_us, double waited_us = 0, double candidate_waited_us = 0) {
    const auto wanted = Next();
    if (!wanted) return false;
    Round round{.plan = PlanRound(*wanted, [this] { return random(); })};
    round.candidate.us = candidate_us;
    round.baseline.us = baseline_us;
    round.baseline.waited_us = waited_us;
    round.candidate.waited_us = candidate_waited_us;
    measured.rounds.push_back(round);
    return true;
  }
  // Rounds until it is enough, with steps of a percent between them, so that no interval is narrow at once.
  int RunAll(double candidate_us) {
    int rounds = 0;
    while (Run(candidate_us * (1 + 0.01 * (rounds % 5)), 1'000)) ++rounds;
    return rounds;
  }
};

TEST(Course, InputsAreInPlaceForTheFirstRoundAlone) {
  Trial trial(Anchored(10));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(trial.Next()->plan.in_place, i == 0);
    ASSERT_TRUE(trial.Run(500, 1'000));
  }
}

// Whatever a candidate has seen, the next round is of another distribution in a third of all cases, and may be any.
TEST(Course, NothingTellsWhatComesNext) {
  std::map<std::string, std::map<std::string, int>> after;  // of two rounds before, the second of them void or not
  Trial trial(Anchored(10));
  constexpr int kTimes = 20'000;
  for (int i = 0; i < kTimes; ++i) {
    trial.measured.rounds.clear();
    const bool is_void = i % 2 == 0;
    trial.Run(500, 1'000);
    trial.Run(500, 1'000, is_void ? 2'000 : 0);
    const auto& rounds = trial.measured.rounds;
    const std::string before =
        rounds[0].plan.distribution + " " + rounds[1].plan.distribution + (is_void ? " void" : "");
    ++after[before][PlanRound(*trial.Next(), [&] { return trial.random(); }).distribution];
  }
  EXPECT_EQ(after.size(), 50u);
  for (const auto& [before, next] : after) {
    double all = 0;
    for (const auto& [name, count] : next) all += count;
    if (all < 400) continue;
    EXPECT_NEAR(next.at("natural") / all, 2.0 / 3, 0.08) << before;
    EXPECT_EQ(next.size(), 5u) << before;
  }
}

TEST(Course, FewRoundsHaveFewDistributions) {
  const TrialSetting setting{.distributions = {"centred", "scaled", "sparse", "structured"}};
  for (const auto& [first_check, names] : {std::pair(1, 1u), std::pair(5, 2u), std::pair(8, 4u), std::pair(10, 4u)}) {
    EXPECT_EQ(DistributionsOf(setting, Anchored(first_check)).size(), 1 + names);
  }
  Protocol protocol = Anchored(10);
  protocol.comparison = "allclose";
  EXPECT_THAT(DistributionsOf(setting, protocol), ElementsAre("natural"));
}

// All weights have been seen when the interval is first looked at; void rounds do not bring that nearer.
TEST(Course, WeightsChangeOnceHalfOfTheFirstRoundsCount) {
  Protocol protocol = Anchored(10);
  protocol.stress_every = 0;
  Trial trial(protocol);
  ASSERT_TRUE(trial.Run(500, 1'000));
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(trial.Run(500, 1'000, 2'000));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(trial.Next()->plan.weights, 0);
    ASSERT_TRUE(trial.Run(500, 1'000));
  }
  EXPECT_EQ(trial.Next()->plan.weights, 1);
}

// A fixed seed is for a round that is compared; what is timed has inputs that did not exist before.
TEST(Course, OnlyUnscoredRoundsHaveASeed) {
  Protocol protocol = Anchored(10);
  protocol.input_seeds = {42, 43};
  Trial trial(protocol);
  std::vector<int64_t> seeds;
  while (trial.Run(500, 1'000)) {
    const RoundPlan& plan = trial.measured.rounds.back().plan;
    if (plan.input_seed) seeds.push_back(*plan.input_seed);
    EXPECT_FALSE(plan.input_seed && (plan.scored || plan.distribution != "natural"));
  }
  EXPECT_THAT(seeds, ElementsAre(42, 43));
}

TEST(Course, AnIntervalThatIsNarrowAtTheFirstLookIsEnough) {
  Trial trial(Anchored(10));
  while (trial.Run(500, 1'000)) {
  }
  int natural = 0;
  for (const Round& round : trial.measured.rounds) natural += round.plan.scored && round.plan.distribution == "natural";
  EXPECT_GE(natural, 10);
  EXPECT_LE(natural, 20) << "one of each distribution is waited for";
  EXPECT_GT(Trial(Anchored(10)).RunAll(500), 40) << "one that is not goes on to the last look";
}

TEST(Course, WhatIsSurelySlowIsNotMeasuredFurther) {
  Protocol protocol = Anchored(10);
  protocol.slow_below = 0.5;
  Trial trial(protocol);
  EXPECT_LT(trial.RunAll(10'000), 40);
  Timings timings = trial.Known();
  Course(trial.measured, &timings);
  EXPECT_TRUE(timings.surely_slow);
}

// Where nothing is timed each distribution and each weight set is met.
TEST(Course, UntimedRoundsMeetEverything) {
  Protocol protocol = Anchored(10);
  protocol.measure = false;
  double rounds = 0;
  Trial trial(protocol);
  for (int i = 0; i < 200; ++i) {
    trial.measured.rounds.clear();
    std::set<std::string> met;
    int weights = 0;
    while (trial.Run(500, 1'000)) {
      met.insert(trial.measured.rounds.back().plan.distribution);
      weights = std::max(weights, trial.measured.rounds.back().plan.weights + 1);
    }
    EXPECT_EQ(met.size(), 5u);
    EXPECT_EQ(weights, 2);
    rounds += static_cast<double>(trial.measured.rounds.size());
  }
  EXPECT_LT(rounds / 200, 18);  // with equal odds for all distributions it were 25
}

TEST(Course, InputsAreGivenAgainOnceBehindTheFirstRound) {
  Protocol protocol = Anchored(10);
  protocol.repeat_bitwise = true;
  Trial trial(protocol);
  const auto wants = [&] {
    Timings timings = trial.Known();
    return Course(trial.measured, &timings).WantsRepeat();
  };
  EXPECT_FALSE(wants());
  ASSERT_TRUE(trial.Run(500, 1'000));
  EXPECT_TRUE(wants());
  trial.measured.repeats = 1;
  EXPECT_FALSE(wants());
}

TEST(Course, WhereTooManyRoundsAreVoidThereIsNoNumber) {
  Trial trial(Anchored(10));
  int rounds = 0;
  while (trial.Run(500, 1'000, 2'000)) ++rounds;
  EXPECT_LT(rounds, 30) << "until each distribution was met";
  Timings timings = trial.Known();
  Course(trial.measured, &timings);
  EXPECT_EQ(timings.no_speedup, kMachineBusy);
  std::set<std::string> met;
  for (const Round& round : trial.measured.rounds) met.insert(round.plan.distribution);
  EXPECT_EQ(met.size(), 5u) << "the verdict rests on as much as ever";
}

// A candidate could see to it that those of one distribution are void.
TEST(Course, VoidRoundsOfOneDistributionComeToAnEnd) {
  Trial trial(Anchored(10));
  int rounds = 0;
  for (; rounds < 1'000; ++rounds) {
    if (!trial.Run(500, 1'000)) break;
    Round& round = trial.measured.rounds.back();
    if (round.plan.distribution == "scaled") round.baseline.waited_us = 2'000;
  }
  EXPECT_LT(rounds, 500);
  Timings timings = trial.Known();
  Course(trial.measured, &timings);
  EXPECT_EQ(timings.no_speedup, kMachineBusy);
}

// Its rounds count, however few of the others are void.
TEST(Course, WhereACandidateWaitsOftenThereIsNoNumber) {
  for (const int every : {1, 2, 8}) {
    Trial trial(Anchored(40));
    for (int i = 0; trial.Run(500, 1'000, 0, i % every == 0 ? 2'000 : 0); ++i) {
    }
    Timings timings = trial.Known();
    Course(trial.measured, &timings);
    EXPECT_EQ(timings.no_speedup, every < 8 ? kMachineBusy : "") << every;
    for (const TimedCalls& round : timings.rounds) EXPECT_EQ(round.void_reason, "");
  }
}

TEST(Course, OthersComeInPlaceOfVoidRounds) {
  Trial trial(Anchored(40));
  for (int i = 0; trial.Run(500, 1'000, i % 6 == 0 ? 2'000 : 0); ++i) {
  }
  Timings timings = trial.Known();
  Course(trial.measured, &timings);
  EXPECT_TRUE(timings.Timed());
  int counted = 0, voids = 0;
  for (const TimedCalls& round : timings.rounds) {
    if (round.plan.scored) ++(round.void_reason.empty() ? counted : voids);
  }
  EXPECT_GE(counted, 40);
  EXPECT_GE(voids, 7);
}

}  // namespace
}  // namespace kb
