#include "score/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "score/bootstrap.h"

namespace kb {
namespace {

using Outcomes = std::vector<Outcome>;

// The mean of the largest over all subsets of k.
double BestOverSubsets(const std::vector<double>& values, int k) {
  double sum = 0;
  int subsets = 0;
  for (unsigned set = 0; set < 1u << values.size(); ++set) {
    if (std::popcount(set) != k) continue;
    double best = -1e300;
    for (size_t i = 0; i < values.size(); ++i) {
      if (set >> i & 1) best = std::max(best, values[i]);
    }
    sum += best;
    ++subsets;
  }
  return sum / subsets;
}

TEST(SamplesTest, ExpectedBestIsTheMeanOverAllSubsets) {
  const std::vector<double> values = {3, -1, 4, 1.5, 4, 9, 2.5};
  for (int k = 1; k <= 7; ++k) EXPECT_NEAR(*ExpectedBest(values, k), BestOverSubsets(values, k), 1e-12) << k;
  EXPECT_FALSE(ExpectedBest(values, 8));
  EXPECT_DOUBLE_EQ(*ExpectedBest({5}, 1), 5);
}

TEST(SamplesTest, CountsAreThoseThatEveryProblemHas) {
  Outcomes outcomes(6, {"a", true, 1.0});
  EXPECT_THAT(SampleCounts(outcomes), testing::ElementsAre(1, 2, 4, 6));
  outcomes.insert(outcomes.end(), 4, {"b", true, 1.0});
  EXPECT_THAT(SampleCounts(outcomes), testing::ElementsAre(1, 2, 4));
  outcomes.push_back({"c", true, 1.0});
  EXPECT_THAT(SampleCounts(outcomes), testing::ElementsAre(1));
  EXPECT_THAT(SampleCounts({}), testing::IsEmpty());
}

TEST(SamplesTest, BestOfKByHand) {
  // a: 4 and wrong; b: 0.25 and 1.
  const Outcomes outcomes = {{"a", true, 4.0}, {"b", true, 0.25}, {"a", false, 9.0}, {"b", true, 1.0}};
  const auto scores = ScoresAtK(outcomes, std::vector<int64_t>{8, 2, 1, 2}, std::vector<double>{0, 1});
  ASSERT_EQ(scores.size(), 2u) << "eight samples no problem has";
  EXPECT_EQ(scores[0].k, 1);
  EXPECT_DOUBLE_EQ(scores[0].fast[0].value, 0.75);
  EXPECT_DOUBLE_EQ(scores[0].fast[1].value, 0.25);
  EXPECT_DOUBLE_EQ(scores[0].best->value, 1) << "2 by 1/2";
  EXPECT_EQ(scores[1].k, 2);
  EXPECT_DOUBLE_EQ(scores[1].fast[0].value, 1);
  EXPECT_DOUBLE_EQ(scores[1].fast[1].value, 0.5);
  EXPECT_DOUBLE_EQ(scores[1].best->value, 2) << "4 by 1";
  EXPECT_EQ(scores[1].fast[0].interval.high, 1);
  EXPECT_NEAR(scores[1].fast[0].interval.low, WilsonInterval({2, 2, 1}).low, 1e-12) << "not [1, 1]";
  const auto capped = ScoresAtK(outcomes, std::vector<int64_t>{2}, std::vector<double>{2}, 1.5);
  EXPECT_DOUBLE_EQ(capped[0].best->value, std::sqrt(1.5));
  EXPECT_DOUBLE_EQ(capped[0].fast[0].value, 0.5) << "a cap is for means";
  EXPECT_TRUE(ScoresAtK({}, std::vector<int64_t>{1}, std::vector<double>{0}).empty());
}

// Twenty samples of a problem that are all alike say no more than one.
TEST(SamplesTest, SamplesOfAProblemAreNotIndependent) {
  Outcomes outcomes;
  for (int problem = 0; problem < 40; ++problem) {
    outcomes.insert(outcomes.end(), 20, {std::to_string(problem), problem % 2 == 0, 2.0});
  }
  const auto scores = ScoresAtK(outcomes, std::vector<int64_t>{1}, std::vector<double>{0});
  const Bounds got = scores.at(0).fast.at(0).interval;
  const Bounds by_problem = WilsonInterval({20, 40, 0.5});
  EXPECT_NEAR(got.low, by_problem.low, 0.03);
  EXPECT_NEAR(got.high, by_problem.high, 0.03);
}

// The interval holds the truth about as often as it says.
TEST(SamplesTest, BootstrapCovers) {
  std::mt19937_64 generator(7);
  int holds = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::vector<double>> rows;
    for (int problem = 0; problem < 60; ++problem) {
      const double rate = static_cast<double>(generator() >> 11) * 0x1p-53;  // uniform: its mean is 1/2
      int passed = 0;
      for (int sample = 0; sample < 8; ++sample) passed += static_cast<double>(generator() >> 11) * 0x1p-53 < rate;
      rows.push_back({passed / 8.0});
    }
    const Bounds bounds = BootstrapMeans(rows, {.resamples = 400}).at(0);
    holds += bounds.low <= 0.5 && 0.5 <= bounds.high;
  }
  EXPECT_GE(holds, kRuns * 91 / 100);
  EXPECT_LE(holds, kRuns * 98 / 100);
}

TEST(SamplesTest, BootstrapOfTheSameRowsIsTheSame) {
  const std::vector<std::vector<double>> rows = {{0, 5}, {1, 5}, {1, 5}, {0, 5}, {1, 5}};
  const auto first = BootstrapMeans(rows), second = BootstrapMeans(rows);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].low, second[0].low);
  EXPECT_LT(first[0].low, 0.6);
  EXPECT_GT(first[0].high, 0.6);
  EXPECT_EQ(first[1].low, 5);
  EXPECT_EQ(first[1].high, 5);
  EXPECT_TRUE(BootstrapMeans({}).empty());
}

}  // namespace
}  // namespace kb
