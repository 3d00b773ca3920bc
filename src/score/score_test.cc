#include "score/score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kb {
namespace {

using Outcomes = std::vector<Outcome>;

struct Case {
  const char* name;
  Outcomes outcomes;
  double fast_0, fast_1, fast_2;
  double geometric, faster, mean, median;  // 0: absent
};

const double kInfinity = std::numeric_limits<double>::infinity();

// Worked by hand.
const Case kCases[] = {
    {"nothing", {}, 0, 0, 0, 0, 0, 0, 0},
    {"all wrong", {{"1/1", false, {}}, {"1/2", false, 9.0}}, 0, 0, 0, 0, 0, 0, 0},
    {"two and a half", {{"a", true, 2.0}, {"b", true, 0.5}}, 1, 0.5, 0, 1, 2, 1.25, 1.25},
    {"equal is not faster", {{"a", true, 1.0}}, 1, 0, 0, 1, 0, 1, 1},
    {"two is not above two", {{"a", true, 2.0}, {"b", true, 8.0}}, 1, 1, 0.5, 4, 4, 5, 5},
    {"wrong ones count in n only",
     {{"a", true, 4.0}, {"b", false, 100.0}, {"c", false, {}}, {"d", true, 1.0}},
     0.5,
     0.25,
     0.25,
     2,
     4,
     2.5,
     2.5},
    {"correct without a time", {{"a", true, {}}, {"b", true, 3.0}}, 1, 0.5, 0.5, 3, 3, 3, 3},
    {"all slower",
     {{"a", true, 0.25}, {"b", true, 0.25}, {"c", true, 0.5}},
     1,
     0,
     0,
     std::cbrt(0.03125),
     0,
     1.0 / 3,
     0.25},
    {"cube",
     {{"a", true, 1.0}, {"b", true, 3.0}, {"c", true, 9.0}},
     1,
     2.0 / 3,
     2.0 / 3,
     3,
     std::sqrt(27),
     13.0 / 3,
     3},
    {"impossible times count as not measured",
     {{"a", true, 0.0}, {"b", true, kInfinity}, {"c", true, -1.0}, {"d", true, 5.0}},
     1,
     0.25,
     0.25,
     5,
     5,
     5,
     5},
};

TEST(ScoreTest, HandWorkedCases) {
  for (const Case& test : kCases) {
    SCOPED_TRACE(test.name);
    EXPECT_DOUBLE_EQ(FastP(test.outcomes, 0).value, test.fast_0);
    EXPECT_DOUBLE_EQ(FastP(test.outcomes, 1).value, test.fast_1);
    EXPECT_DOUBLE_EQ(FastP(test.outcomes, 2).value, test.fast_2);
    const auto expect = [](std::optional<double> got, double want) {
      ASSERT_EQ(got.has_value(), want != 0);
      EXPECT_NEAR(got.value_or(0), want, 1e-12);
    };
    expect(GeometricMean(test.outcomes), test.geometric);
    expect(GeometricMeanFaster(test.outcomes), test.faster);
    expect(MeanSpeedup(test.outcomes), test.mean);
    expect(MedianSpeedup(test.outcomes), test.median);
  }
}

// Eight problems as KernelBench's `kernelbench` protocol scores them: n is all that were attempted, and > is strict.
TEST(ScoreTest, UpstreamFormulasByHand) {
  const Outcomes outcomes = {{"1/1", true, 0.5}, {"1/2", true, 0.8}, {"1/3", true, 1.0},     {"1/4", true, 1.5},
                             {"1/5", true, 2.0}, {"1/6", true, 4.0}, {"1/7", false, 1000.0}, {"1/8", false, {}}};
  const int64_t kAbove[] = {6, 5, 4, 3, 2, 1};
  const std::vector<CurvePoint> curve = FastPCurve(outcomes, kUpstreamThresholds);
  for (size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].fast.count, kAbove[i]) << curve[i].p;
    EXPECT_DOUBLE_EQ(curve[i].fast.value, static_cast<double>(kAbove[i]) / 8);
  }
  EXPECT_NEAR(*GeometricMean(outcomes), std::pow(4.8, 1.0 / 6), 1e-12);
  EXPECT_NEAR(*GeometricMeanFaster(outcomes), std::cbrt(12.0), 1e-12);
  EXPECT_NEAR(*GeometricMeanOrOne(outcomes), std::pow(4.8, 1.0 / 8), 1e-12);
  EXPECT_NEAR(*MeanSpeedup(outcomes), 9.8 / 6, 1e-12);
  EXPECT_NEAR(*MedianSpeedup(outcomes), 1.25, 1e-12);
}

TEST(ScoreTest, ACapLimitsWhatOneProblemAdds) {
  const Outcomes outcomes = {{"3/1", true, 400.0}, {"3/2", true, 2.0}, {"3/3", false, 90.0}, {"3/4", true, kInfinity}};
  const Outcomes capped = Capped(outcomes, 50);
  EXPECT_DOUBLE_EQ(*GeometricMean(capped), 10);
  EXPECT_DOUBLE_EQ(*MeanSpeedup(capped), 26);
  EXPECT_EQ(FastP(capped, 1).count, 2) << "what is no time stays none";
  EXPECT_EQ(CorrectSpeedups(outcomes), (std::vector<double>{400, 2})) << "the outcomes themselves stay";
  EXPECT_FALSE(GeometricMeanOrOne(Outcomes{}));
  EXPECT_DOUBLE_EQ(*GeometricMeanOrOne(Outcomes{{"a", false, {}}}), 1);
}

TEST(ScoreTest, GeometricMeanOfManyDoesNotOverflow) {
  const Outcomes many(2000, {"a", true, 1e6});
  EXPECT_NEAR(*GeometricMean(many), 1e6, 1e-3);
}

TEST(ScoreTest, CurveFallsWithP) {
  const Outcomes outcomes = {{"a", true, 0.6}, {"b", true, 0.9}, {"c", true, 1.2}, {"d", true, {}}, {"e", false, {}}};
  const std::vector<CurvePoint> curve = FastPCurve(outcomes, kUpstreamThresholds);
  const double kExpected[] = {0.8, 0.6, 0.4, 0.2, 0, 0};
  ASSERT_EQ(curve.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(curve[i].p, kUpstreamThresholds[i]);
    EXPECT_DOUBLE_EQ(curve[i].fast.value, kExpected[i]) << i;
    EXPECT_EQ(curve[i].fast.total, 5);
  }
}

TEST(ScoreTest, PassAtKAgreesWithCounting) {
  // 1 - C(n - c, k) / C(n, k).
  EXPECT_DOUBLE_EQ(*PassAtK(10, 0, 1), 0);
  EXPECT_DOUBLE_EQ(*PassAtK(10, 3, 1), 0.3);
  EXPECT_NEAR(*PassAtK(5, 2, 2), 1 - 3.0 / 10, 1e-15);
  EXPECT_NEAR(*PassAtK(10, 3, 5), 1 - 21.0 / 252, 1e-15);
  EXPECT_NEAR(*PassAtK(4, 1, 3), 0.75, 1e-15);
  EXPECT_DOUBLE_EQ(*PassAtK(10, 6, 5), 1);  // n - c < k
  EXPECT_DOUBLE_EQ(*PassAtK(10, 10, 10), 1);
  EXPECT_FALSE(PassAtK(3, 0, 5).has_value());
  EXPECT_NEAR(*PassAtK(200, 1, 100), 0.5, 1e-12);
}

TEST(ScoreTest, PassAtKIsTheMeanOverProblems) {
  const Outcomes outcomes = {{"a", true, 0.5}, {"a", false, {}}, {"b", false, {}}, {"b", false, {}}};
  EXPECT_DOUBLE_EQ(*PassAtK(outcomes, 1), 0.25);
  EXPECT_DOUBLE_EQ(*PassAtK(outcomes, 2), 0.5);
  EXPECT_DOUBLE_EQ(*PassAtK(outcomes, 2, 1.0), 0) << "correct but not faster";
  EXPECT_FALSE(PassAtK(outcomes, 3).has_value());
  EXPECT_FALSE(PassAtK(Outcomes{}, 1).has_value());
}

TEST(ScoreTest, WilsonInterval) {
  const struct {
    int64_t count, total;
    double low, high;
  } kWilson[] = {
      {0, 0, 0, 1},
      {0, 10, 0, 0.277533},  // z^2 / (n + z^2)
      {10, 10, 0.722467, 1},
      {5, 10, 0.236593, 0.763407},  // 0.5 +- z sqrt(10 + z^2) / (2 (10 + z^2))
      {1, 2, 0.094531, 0.905469},
      {50, 100, 0.403832, 0.596168},
  };
  for (const auto& test : kWilson) {
    SCOPED_TRACE(test.count);
    const Bounds bounds =
        WilsonInterval({test.count, test.total, test.total ? double(test.count) / double(test.total) : 0});
    EXPECT_NEAR(bounds.low, test.low, 1e-6);
    EXPECT_NEAR(bounds.high, test.high, 1e-6);
  }
}

TEST(ScoreTest, GeometricMeanInterval) {
  EXPECT_FALSE(GeometricMeanInterval(Outcomes{{"a", true, 2.0}}).has_value());
  // Logarithms 0 and 2: mean 1, standard error 1, t(0.975, 1) = 12.7062.
  const auto bounds = GeometricMeanInterval(Outcomes{{"a", true, 1.0}, {"b", true, std::exp(2)}});
  ASSERT_TRUE(bounds.has_value());
  EXPECT_NEAR(std::log(bounds->low), 1 - 12.7062047, 1e-6);
  EXPECT_NEAR(std::log(bounds->high), 1 + 12.7062047, 1e-6);
}

TEST(ScoreTest, SurelyFasterAndByOwnWork) {
  const auto made = [](bool correct, double speedup, bool surely, bool own) {
    Outcome outcome{"1/1", correct, speedup};
    outcome.surely = surely;
    outcome.own = own;
    return outcome;
  };
  const std::vector<Outcome> outcomes = {
      made(true, 2, true, true), made(true, 2, true, false), made(true, 1.1, false, true),  // its interval holds 1
      made(false, 2, true, true), made(true, 0.9, true, true)};  // an audit has found it slower
  EXPECT_EQ(FastP(outcomes, 1).count, 3);
  EXPECT_EQ(SurelyFaster(outcomes).count, 2);
  EXPECT_EQ(FasterByOwnWork(outcomes).count, 1);
  EXPECT_EQ(FasterByOwnWork(outcomes).total, 5);
  Outcome missing{"1/1"};
  missing.missing = true;
  EXPECT_EQ(FasterByOwnWork(IfAllPass(std::vector{missing})).count, 1);
}

}  // namespace
}  // namespace kb
