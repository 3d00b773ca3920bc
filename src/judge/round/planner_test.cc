#include "judge/round/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kb {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

const json kProblem = {{"distributions", {"centred", "scaled", "sparse", "structured"}}, {"weight_seeds", {1, 2}}};

Protocol Anchored(int first_check) {
  Protocol protocol;
  protocol.comparison = "anchored";
  protocol.stress_every = 2;
  protocol.round_checks = {first_check, 40};
  return protocol;
}

TEST(Planner, InputsAreInPlaceForTheFirstRoundAlone) {
  const Protocol protocol = Anchored(10);
  Planner planner(protocol, kProblem, std::mt19937_64(1));
  EXPECT_TRUE(planner.Next(false).in_place);
  for (const RoundPlan& plan : {planner.Next(false), planner.Next(true), planner.Unscored("centred")}) {
    EXPECT_FALSE(plan.in_place);
  }
}

// Whatever a candidate has seen, the next round is of another distribution in a third of all cases, and may be any.
TEST(Planner, NothingTellsWhatComesNext) {
  const Protocol protocol = Anchored(10);
  std::map<std::string, std::map<std::string, int>> after;  // of two rounds before, the second of them void or not
  std::mt19937_64 random(1);
  constexpr int kTimes = 20'000;
  for (int i = 0; i < kTimes; ++i) {
    Planner planner(protocol, kProblem, [&] { return random(); });
    const RoundPlan first = planner.Next(false), second = planner.Next(true);
    if (i % 2 == 0) planner.Void(second);
    ++after[first.distribution + " " + second.distribution + (i % 2 == 0 ? " void" : "")]
           [planner.Next(true).distribution];
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

TEST(Planner, EachDistributionIsMetSoon) {
  const Protocol protocol = Anchored(10);
  std::mt19937_64 random(1);
  double rounds = 0;
  for (int i = 0; i < 1000; ++i) {
    Planner planner(protocol, kProblem, [&] { return random(); });
    for (; !planner.AllMet(); ++rounds) planner.Next(true);
  }
  EXPECT_LT(rounds / 1000, 18);  // with equal odds it were 25
}

TEST(Planner, FewRoundsHaveFewDistributions) {
  for (const auto& [first_check, names] : {std::pair(1, 1u), std::pair(5, 2u), std::pair(8, 4u), std::pair(10, 4u)}) {
    const Protocol protocol = Anchored(first_check);
    EXPECT_EQ(Planner(protocol, kProblem, std::mt19937_64(1)).Distributions().size(), 1 + names);
  }
  Protocol protocol = Anchored(10);
  protocol.comparison = "allclose";
  Planner planner(protocol, kProblem, std::mt19937_64(1));
  EXPECT_THAT(planner.Distributions(), ElementsAre("natural"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(planner.Next(true).distribution, "natural");
  EXPECT_TRUE(planner.AllMet());
}

// All weights have been seen when the interval is first looked at; void rounds do not bring that nearer.
TEST(Planner, WeightsChangeOnceHalfOfTheFirstRoundsCount) {
  Protocol protocol = Anchored(10);
  protocol.stress_every = 0;
  Planner planner(protocol, kProblem, std::mt19937_64(1));
  for (int i = 0; i < 7; ++i) planner.Void(planner.Next(true));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(planner.Next(true).weights, 0);
  EXPECT_FALSE(planner.AllMet());
  for (int i = 0; i < 9; ++i) EXPECT_EQ(planner.Next(true).weights, 1);
  EXPECT_TRUE(planner.AllMet());
}

// A fixed seed is for a round that is compared; what is timed has inputs that did not exist before.
TEST(Planner, OnlyUnscoredRoundsHaveASeed) {
  Protocol protocol = Anchored(10);
  protocol.input_seeds = {42, 43};
  Planner planner(protocol, kProblem, std::mt19937_64(1));
  EXPECT_EQ(planner.Seeded(42).input_seed, 42);
  EXPECT_FALSE(planner.Seeded(42).scored);
  for (const bool scored : {false, true}) EXPECT_FALSE(planner.Next(scored).input_seed);
}

}  // namespace
}  // namespace kb
