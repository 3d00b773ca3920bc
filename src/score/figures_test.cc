#include "score/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "score/samples.h"

namespace kb {
namespace {

using Outcomes = std::vector<Outcome>;

const Outcome kWrong = {"w", false, {}};
const Outcome kNoVerdict = {"v", false, {}, true};
const Outcome kNoTime = {"t", true, {}, true};
const Outcome kNotCounted = {"n", true, {}};  // its authorship was not accepted: that is known
Outcome Correct(double speedup) { return {"c", true, speedup}; }

struct Ends {
  double low, high;
};

TEST(FiguresTest, SharesByHand) {
  const struct {
    const char* name;
    Outcomes outcomes;
    Ends fast_0, fast_2;
  } kCases[] = {
      {"a missing verdict may fail or pass", {Correct(3), kNoVerdict, kWrong, kWrong}, {0.25, 0.5}, {0.25, 0.5}},
      {"a missing time may be slow or fast", {Correct(3), kNoTime, kWrong, kWrong}, {0.5, 0.5}, {0.25, 0.5}},
      {"both", {Correct(1), kNoTime, kNoVerdict, kWrong}, {0.5, 0.75}, {0, 0.5}},
      {"all missing", {kNoVerdict, kNoVerdict}, {0, 1}, {0, 1}},
      {"a better sample may be missing", {{"c", true, 1.5, true}, kWrong}, {0.5, 0.5}, {0, 0.5}},
      {"nothing missing", {Correct(3), kNotCounted, kWrong, kWrong}, {0.5, 0.5}, {0.25, 0.25}},
  };
  for (const auto& [name, outcomes, fast_0, fast_2] : kCases) {
    SCOPED_TRACE(name);
    const FigureRange range = FigureRangeOf(outcomes, std::vector<double>{0, 2}, {});
    EXPECT_EQ(range.missing, CountMissing(outcomes));
    EXPECT_EQ(range.if_all_pass.has_value(), range.missing > 0);
    const Figures& high = range.if_all_pass ? *range.if_all_pass : range.if_all_fail;
    EXPECT_EQ(range.if_all_fail.curve[0].fast.value, fast_0.low);
    EXPECT_EQ(range.if_all_fail.curve[1].fast.value, fast_2.low);
    EXPECT_EQ(high.curve[0].fast.value, fast_0.high);
    EXPECT_EQ(high.curve[1].fast.value, fast_2.high);
    EXPECT_EQ(high.correct.value, fast_0.high);
  }
}

TEST(FiguresTest, MeansHaveNoHighEndWithoutACap) {
  const Outcomes outcomes = {Correct(2), Correct(8), Correct(0.5), kNoVerdict};
  const FigureRange range = FigureRangeOf(outcomes, {}, {});
  EXPECT_DOUBLE_EQ(*range.if_all_fail.geometric, 2);
  EXPECT_DOUBLE_EQ(*range.if_all_fail.geometric_faster, 4);
  EXPECT_DOUBLE_EQ(*range.if_all_fail.geometric_or_one, std::pow(8, 0.25)) << "a missing one counts as the baseline";
  EXPECT_DOUBLE_EQ(*range.if_all_fail.mean, 3.5);
  const Figures& high = *range.if_all_pass;
  EXPECT_EQ(high.measured, 4);
  EXPECT_FALSE(high.geometric || high.geometric_faster || high.geometric_or_one || high.mean);
  EXPECT_FALSE(high.geometric_interval);
}

TEST(FiguresTest, ACapIsTheMostThatAMissingOneAdds) {
  const Outcomes outcomes = {Correct(2), kNoVerdict, kNoTime, kWrong};
  const FigureRange range = FigureRangeOf(outcomes, std::vector<double>{10}, 4);
  EXPECT_DOUBLE_EQ(*range.if_all_fail.geometric, 2);
  EXPECT_DOUBLE_EQ(*range.if_all_pass->geometric, std::cbrt(2 * 4 * 4));
  EXPECT_DOUBLE_EQ(*range.if_all_pass->geometric_or_one, std::pow(2 * 4 * 4, 0.25));
  EXPECT_TRUE(range.if_all_pass->geometric_interval);
  EXPECT_EQ(range.if_all_pass->curve[0].fast.count, 2) << "thresholds do not know the cap";
}

TEST(FiguresTest, AMedianIsKnownWhereMostSpeedupsAre) {
  const struct {
    Outcomes outcomes;
    std::optional<double> high;
  } kCases[] = {
      {{Correct(1), Correct(2), kNoVerdict}, 2},
      {{Correct(1), Correct(2), Correct(4), kNoTime}, 3},
      {{Correct(1), kNoVerdict}, {}},
      {{Correct(1), kNoVerdict, kNoTime}, {}},
      {{kNoVerdict, kNoVerdict}, {}},
  };
  for (const auto& [outcomes, high] : kCases) EXPECT_EQ(FigureRangeOf(outcomes, {}, {}).if_all_pass->median, high);
}

TEST(FiguresTest, OfKSamplesMissingOnesFailOrPass) {
  // a: 4 and a missing one; b: wrong and wrong.
  const Outcomes outcomes = {{"a", true, 4.0}, {"a", false, {}, true}, {"b", false, {}}, {"b", false, {}}};
  const std::vector<int64_t> ks = {1, 2};
  const std::vector<double> thresholds = {0, 5};
  const auto low = ScoresAtK(outcomes, ks, thresholds), high = ScoresAtK(IfAllPass(outcomes), ks, thresholds);
  EXPECT_DOUBLE_EQ(low[0].fast[0].value, 0.25);
  EXPECT_DOUBLE_EQ(high[0].fast[0].value, 0.5);
  EXPECT_DOUBLE_EQ(low[1].fast[1].value, 0);
  EXPECT_DOUBLE_EQ(high[1].fast[1].value, 0.5);
  EXPECT_DOUBLE_EQ(low[1].best->value, 2) << "4 by 1";
  EXPECT_FALSE(high[0].best || high[1].best);
  const auto capped = ScoresAtK(IfAllPass(outcomes), ks, thresholds, 9);
  EXPECT_DOUBLE_EQ(capped[1].best->value, 3) << "9 by 1";
}

}  // namespace
}  // namespace kb
