#include "judge/stats/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

namespace kb {
namespace {

TEST(WithoutOffset, TakesNoMoreThanItsShareOfASpan) {
  EXPECT_DOUBLE_EQ(WithoutOffset(1000, 100, 0.5), 900);
  EXPECT_DOUBLE_EQ(WithoutOffset(1000, 500, 0.5), 500);
  EXPECT_DOUBLE_EQ(WithoutOffset(1000, 990, 0.5), 500);
  EXPECT_DOUBLE_EQ(WithoutOffset(1000, 5000, 0.5), 500);
  EXPECT_DOUBLE_EQ(WithoutOffset(1000, 900, 0.95), 100);
  EXPECT_DOUBLE_EQ(WithoutOffset(1000, 5000, 0.75), 250);
}

TEST(Refined, EventsCountAsFarAsTheClockAllows) {
  EXPECT_DOUBLE_EQ(Refined(100, 110, 30, 20), 100);
  EXPECT_DOUBLE_EQ(Refined(70, 110, 30, 20), 80) << "who claims less than the clock leaves gets what it leaves";
  EXPECT_DOUBLE_EQ(Refined(140, 110, 30, 20), 130);
  EXPECT_DOUBLE_EQ(Refined(19, 110, 30, 20), 110) << "events of something else tell nothing";
  EXPECT_DOUBLE_EQ(Refined(171, 110, 30, 20), 110);
  EXPECT_DOUBLE_EQ(Refined(0, 10, 30, 20), 10) << "and neither do none";
}

std::vector<double> OneTo(int n) {
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

// Rounds one after another, behind one that warms up.
std::vector<TimedRound> Rounds(const std::vector<double>& candidate, const std::vector<double>& baseline) {
  std::vector<TimedRound> rounds = {{0, 1, baseline[0], false}};
  for (size_t i = 0; i < candidate.size(); ++i) {
    rounds.push_back({static_cast<int64_t>(i) + 1, candidate[i], baseline[i], true});
  }
  return rounds;
}

TEST(StatsTest, MeanMedianAndDeviation) {
  EXPECT_DOUBLE_EQ(Mean(std::vector<double>{1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{9}), 9);
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{7, 7, 1, 7}), 7);
  EXPECT_DOUBLE_EQ(MedianAbsoluteDeviation(std::vector<double>{1, 1, 2, 2, 4, 6, 9}), 1);
  EXPECT_DOUBLE_EQ(MedianAbsoluteDeviation(std::vector<double>{3, 3}), 0);
}

TEST(StatsTest, NormalQuantileAgreesWithPublishedValues) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-13);
  EXPECT_NEAR(NormalQuantile(0.995), 2.5758293035489004, 1e-13);
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-15);
  EXPECT_NEAR(NormalQuantile(1e-10), -6.361340902404056, 1e-12);
}

TEST(StatsTest, StudentQuantileAgreesWithClosedForms) {
  for (const double p : {0.01, 0.2, 0.5, 0.75, 0.9, 0.975, 0.995, 0.9999}) {
    SCOPED_TRACE(p);
    const double u = 2 * p - 1;
    const double one = std::tan(std::numbers::pi * (p - 0.5));
    const double two = u * std::sqrt(2 / (1 - u * u));
    // Four degrees: t^2 = 4 (cos(arccos(sqrt(a)) / 3) / sqrt(a) - 1), with a = 4 p (1 - p).
    const double root = std::sqrt(4 * p * (1 - p));
    const double four = std::copysign(2 * std::sqrt(std::cos(std::acos(root) / 3) / root - 1), u);
    EXPECT_NEAR(StudentQuantile(p, 1), one, 1e-9 * (1 + std::abs(one)));
    EXPECT_NEAR(StudentQuantile(p, 2), two, 1e-9 * (1 + std::abs(two)));
    EXPECT_NEAR(StudentQuantile(p, 4), p == 0.5 ? 0 : four, 1e-7 * (1 + std::abs(four)));
  }
}

TEST(StatsTest, StudentQuantileAgreesWithPrintedTables) {
  const struct {
    int64_t degrees;
    double p, t;
  } kCases[] = {{3, 0.975, 3.182}, {5, 0.975, 2.571},  {9, 0.975, 2.262},  {9, 0.995, 3.250},
                {10, 0.95, 1.812}, {30, 0.975, 2.042}, {99, 0.975, 1.984}, {120, 0.995, 2.617}};
  for (const auto& test : kCases) EXPECT_NEAR(StudentQuantile(test.p, test.degrees), test.t, 5.1e-4) << test.degrees;
  EXPECT_NEAR(StudentQuantile(0.975, 100001), NormalQuantile(0.975), 3e-5);
}

TEST(StatsTest, MedianIntervalUsesBinomialRanks) {
  const struct {
    int n;
    double confidence, low, high, coverage;
  } kCases[] = {
      {1, 0.95, 1, 1, 0},                            // one value says nothing about the spread
      {2, 0.95, 1, 2, 0.5},                          // the median lies between two values half of the time
      {5, 0.95, 1, 5, 1 - 2.0 / 32},                 // too few: extremes, 93.75%
      {6, 0.95, 1, 6, 1 - 2.0 / 64},                 // the fewest that reach 95%
      {10, 0.95, 2, 9, 1 - 2.0 * 11 / 1024},         // 97.85%; ranks 3 and 8 would have 89.06%
      {10, 0.89, 3, 8, 1 - 2.0 * 56 / 1024},         // 89.06%
      {10, 0.9999, 1, 10, 1 - 2.0 / 1024},           // too few for the wanted confidence
      {20, 0.95, 6, 15, 1 - 2.0 * 21700 / 1048576},  // C(20, 0..5) = 1 + 20 + 190 + 1140 + 4845 + 15504
      {100, 0.95, 40, 61, 0.9647998},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.n);
    const Interval interval = MedianInterval(OneTo(test.n), test.confidence);
    EXPECT_EQ(interval.low, test.low);
    EXPECT_EQ(interval.high, test.high);
    EXPECT_NEAR(interval.coverage, test.coverage, 1e-7);
  }
}

TEST(StatsTest, MedianIntervalOfManyValuesDoesNotUnderflow) {
  const Interval interval = MedianInterval(OneTo(5000), 0.95);
  EXPECT_GE(interval.coverage, 0.95);
  EXPECT_LT(interval.coverage, 0.952);
  EXPECT_NEAR(interval.high - interval.low, 1.96 * std::sqrt(5000), 3);
}

TEST(StatsTest, MeanInterval) {
  // 1, 2, 3: mean 2, standard error 1 / sqrt(3), t(0.975, 2) = 4.302653.
  const Interval interval = MeanInterval(std::vector<double>{1, 2, 3}, 0.95);
  EXPECT_NEAR(interval.low, 2 - 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(interval.high, 2 + 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_EQ(interval.coverage, 0.95);
  EXPECT_EQ(MeanInterval(std::vector<double>{7}, 0.95).coverage, 0);
}

TEST(StatsTest, RatiosUseTheBaselinesOnBothSides) {
  const std::vector<TimedRound> rounds = {
      {0, 9, 100, false},  // warm-up: no ratio of its own
      {1, 50, 120, true},
      {2, 50, 80, true},
      {4, 40, 60, true},  // round 3 was void, so its baseline is not there
  };
  EXPECT_EQ(SpeedupRatios(rounds), (std::vector<double>{100.0 / 50, 120.0 / 50, 120.0 / 50, 80.0 / 50, 60.0 / 40}));
  // Rounds 1 and 2 have different inputs.
  std::vector<TimedRound> apart = rounds;
  apart[2].apart = true;
  EXPECT_EQ(SpeedupRatios(apart), (std::vector<double>{100.0 / 50, 120.0 / 50, 80.0 / 50, 60.0 / 40}));
}

TEST(StatsTest, SteadyDriftCancels) {
  // Everything becomes slower by 1% of the start each half round; the candidate takes half of the baseline's time.
  std::vector<TimedRound> rounds;
  for (int i = 0; i < 20; ++i) {
    rounds.push_back({i, 50 * (1 + 0.01 * (2 * i)), 100 * (1 + 0.01 * (2 * i + 1)), i > 0});
  }
  EXPECT_NEAR(EstimateSpeedup(rounds).speedup, 2, 1e-12);
}

// Noise that only makes calls longer, and on neighbours more often than not: both sides are the same, so 1 is right.
TEST(StatsTest, WhatIsTheSameComesOutAsTheSame) {
  std::mt19937_64 random(20261123);
  std::uniform_real_distribution<double> uniform;
  bool slow = false;
  const auto time = [&] {
    if (uniform(random) < 0.2) slow = !slow;
    const double late = uniform(random) < 0.3 ? 0.5 * uniform(random) : 0;
    return (slow ? 150 : 100) * (1 + 0.02 * uniform(random) + late);
  };
  std::vector<double> speedups;
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<TimedRound> rounds;
    for (int i = 0; i < 11; ++i) {
      const double candidate = time();
      rounds.push_back({i, candidate, time(), i > 0});
    }
    speedups.push_back(EstimateSpeedup(rounds).speedup);
  }
  EXPECT_NEAR(Median(speedups), 1, 0.002);
}

TEST(StatsTest, EstimateByHand) {
  // Ratios 2, 2.5, 4, 5, 10, 20, each twice, for the baseline is constant.
  const std::vector<double> candidate = {50, 40, 25, 20, 10, 5};
  const Speedup plain = EstimateSpeedup(Rounds(candidate, std::vector<double>(6, 100)));
  EXPECT_EQ(plain.rounds, 6);
  EXPECT_DOUBLE_EQ(plain.speedup, 4.5);
  EXPECT_DOUBLE_EQ(plain.low, 2);
  EXPECT_DOUBLE_EQ(plain.high, 20);
  EXPECT_DOUBLE_EQ(plain.coverage, 0.96875);
  EXPECT_DOUBLE_EQ(plain.half_width, 2);
  EXPECT_DOUBLE_EQ(plain.candidate_us, 22.5);
  EXPECT_DOUBLE_EQ(plain.baseline_us, 100);
  EXPECT_EQ(plain.floor, 0);

  EstimateOptions options;
  options.floor = 0.01;
  options.offset_uncertainty_us = 0.45;  // 2% of 22.5 us
  const Speedup floored = EstimateSpeedup(Rounds(candidate, std::vector<double>(6, 100)), options);
  EXPECT_NEAR(floored.floor, 0.03, 1e-15);
  EXPECT_NEAR(floored.low, 2 * 0.97, 1e-12);
  EXPECT_NEAR(floored.high, 20 * 1.03, 1e-12);
  EXPECT_DOUBLE_EQ(floored.half_width, 2) << "the floor is not part of the statistical width";
}

TEST(StatsTest, OneOfSeveralLooksNeedsMoreConfidence) {
  // Twenty rounds: 95% is met by ranks 6 and 15 (95.9%); 97.5% only by ranks 5 and 16 (98.8%).
  std::vector<double> candidate;
  for (int i = 1; i <= 20; ++i) candidate.push_back(100.0 / i);
  const std::vector<TimedRound> rounds = Rounds(candidate, std::vector<double>(20, 100));
  EstimateOptions options;
  EXPECT_NEAR(EstimateSpeedup(rounds, options).low, 6, 1e-12);
  for (const size_t looks : {2, 8}) {
    options.looks = looks;
    EXPECT_NEAR(EstimateSpeedup(rounds, options).low, 5, 1e-12);
    EXPECT_NEAR(EstimateSpeedup(rounds, options).high, 16, 1e-12);
  }
}

TEST(StatsTest, MeanStatisticIsTheRatioOfTheMeans) {
  EstimateOptions options;
  options.statistic = Statistic::kMean;
  // mean(B) = 20, mean(A) = 10; residuals (B - 2 A) / 10 = 0.2, -0.4, 0.2: deviation sqrt(0.12), error 0.2.
  const Speedup speedup = EstimateSpeedup(Rounds({9, 11, 10}, {20, 18, 22}), options);
  EXPECT_DOUBLE_EQ(speedup.speedup, 2);
  EXPECT_NEAR(speedup.high - 2, 4.302653 * 0.2, 1e-6);
  EXPECT_NEAR(2 - speedup.low, 4.302653 * 0.2, 1e-6);
  EXPECT_DOUBLE_EQ(speedup.candidate_us, 10);
}

TEST(StatsTest, NothingScoredIsNotANumber) {
  const Speedup none = EstimateSpeedup({});
  EXPECT_EQ(none.rounds, 0);
  EXPECT_TRUE(std::isnan(none.speedup));
  const Speedup one = EstimateSpeedup(Rounds({50}, {100}));
  EXPECT_EQ(one.speedup, 2);
  EXPECT_EQ(one.coverage, 0);
}

TEST(StatsTest, RatiosAreWorthWhatTheyDoNotShare) {
  const std::vector<double> steady(10, 50), noisy = {50, 51, 49, 52, 48, 53, 47, 54, 46, 55};
  EXPECT_DOUBLE_EQ(WorthOfRatios(Rounds(noisy, steady)), 10);
  EXPECT_DOUBLE_EQ(WorthOfRatios(Rounds(steady, steady)), 10);
  EXPECT_NEAR(WorthOfRatios(Rounds(steady, noisy)), 400.0 / (20 + 2 * 9), 1e-9);
  // Signs agree with (2 / pi) arcsin(1 / 2) = 1 / 3.
  EXPECT_NEAR(WorthOfRatios(Rounds(noisy, noisy)), 400 / (20 + 2 * (10 + 9) / 3.0), 1e-9);
  std::vector<TimedRound> alone = Rounds(noisy, noisy);
  for (TimedRound& round : alone) round.index *= 2;
  EXPECT_DOUBLE_EQ(WorthOfRatios(alone), 10);
  // Drift, which both sides have, is no scatter of either.
  std::vector<TimedRound> drifting = Rounds(noisy, steady);
  for (TimedRound& round : drifting) {
    round.candidate_us += 20 * static_cast<double>(round.index);
    round.baseline_us += 20 * static_cast<double>(round.index);
  }
  EXPECT_DOUBLE_EQ(WorthOfRatios(drifting), 10);
  EXPECT_EQ(WorthOfRatios({}), 0);
}

// The intervals keep what they promise, whichever side is noisy, and also where not every round follows one of its
// kind: under `strict` each third is followed by one with other inputs.
TEST(StatsTest, CoverageHoldsInSimulation) {
  struct Noise {
    double candidate, baseline;
  };
  for (const Noise noise : {Noise{0.02, 0.0}, Noise{0.02, 0.02}, Noise{0.001, 0.02}}) {
    for (const int in_a_row : {100, 3, 1}) {
      SCOPED_TRACE(testing::Message() << noise.candidate << " " << noise.baseline << " " << in_a_row);
      std::mt19937_64 random(20240607);
      std::normal_distribution<double> normal;
      constexpr int kTrials = 4000;
      int covered = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<TimedRound> rounds;
        for (int i = 0; i < 21; ++i) {
          const double candidate = 50 * (1 + noise.candidate * normal(random));
          rounds.push_back({i + i / in_a_row, candidate, 100 * (1 + noise.baseline * normal(random)), i > 0});
        }
        const Speedup speedup = EstimateSpeedup(rounds);
        covered += speedup.low <= 2 && 2 <= speedup.high;
      }
      EXPECT_GT(covered, 0.94 * kTrials);
    }
  }
}

// A measurement that ends at the first interval that is narrow enough, as under `strict`, keeps the promise of one that
// does not ask: for noise that needs few rounds, noise that needs all of them, and outliers.
TEST(StatsTest, CoverageHoldsOverAllLooks) {
  constexpr int kLooks[] = {10, 14, 20, 28, 40, 56, 80, 100}, kTrials = 2000;
  constexpr double kHalfWidth = 0.01;
  for (const double noise : {0.006, 0.01, 0.016, 0.025}) {
    for (const double outliers : {0.0, 0.1}) {
      SCOPED_TRACE(testing::Message() << noise << " " << outliers);
      std::mt19937_64 random(20261123);
      std::normal_distribution<double> normal;
      std::uniform_real_distribution<double> uniform;
      const auto time = [&](double us) {
        const double late = uniform(random) < outliers ? 8 * uniform(random) : 0;
        return us * (1 + noise * (normal(random) + late));
      };
      int covered = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<TimedRound> rounds;
        Speedup speedup;
        for (const int look : kLooks) {
          while (static_cast<int>(rounds.size()) <= look) {
            const auto index = static_cast<int64_t>(rounds.size());
            rounds.push_back({index, time(50), time(50), index > 0});
          }
          speedup = EstimateSpeedup(rounds, {.looks = std::size(kLooks)});
          if (speedup.half_width <= kHalfWidth) break;
        }
        covered += speedup.low <= 1 && 1 <= speedup.high;
      }
      EXPECT_GT(covered, 0.95 * kTrials);
    }
  }
}

// Both factors of the low end may be negative on a machine that is too busy to measure on; their product must not
// count.
TEST(EstimateTest, AHopelessIntervalStillHoldsTheSpeedup) {
  const std::vector<TimedRound> rounds = {{0, 1, 900, true}, {1, 40, 3, true}, {2, 2, 5, true}};
  for (const Statistic statistic : {Statistic::kMedian, Statistic::kMean}) {
    const Speedup estimate = EstimateSpeedup(rounds, {.statistic = statistic, .offset_uncertainty_us = 500});
    EXPECT_GT(estimate.floor, 1);
    EXPECT_EQ(estimate.low, 0);
    EXPECT_GE(estimate.high, estimate.speedup);
  }
}

}  // namespace
}  // namespace kb
