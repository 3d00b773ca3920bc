#include "score/compare_range.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kb {
namespace {

using Outcomes = std::vector<Outcome>;

TEST(CompareRangeTest, NothingMissingIsNoRange) {
  const Outcomes a = {{"1", true, 2.0}, {"2", true, 2.0}, {"only a", false, {}, true}},
                 b = {{"1", true, {}}, {"2", false, {}}};
  const ComparisonRange range = CompareRange(a, b);
  EXPECT_EQ(range.missing_a + range.missing_b, 0) << "what one side alone attempted counts for nothing";
  EXPECT_FALSE(range.lowest || range.highest);
}

TEST(CompareRangeTest, EndsByHand) {
  const Outcomes a = {{"1", true, 2.0}, {"2", false, {}, true}, {"3", true, {}, true}, {"4", true, 2.0}};
  const Outcomes b = {{"1", true, 1.0}, {"2", true, 1.0}, {"3", true, 4.0}, {"4", false, {}, true}};
  const ComparisonRange range = CompareRange(a, b);
  EXPECT_EQ(range.missing_a, 2);
  EXPECT_EQ(range.missing_b, 1);
  EXPECT_DOUBLE_EQ(range.if_all_fail.fast[0].value, 0);
  EXPECT_DOUBLE_EQ(range.lowest->fast[0].value, -0.25);
  EXPECT_DOUBLE_EQ(range.highest->fast[0].value, 0.25);
  EXPECT_DOUBLE_EQ(range.lowest->fast[1].value, 0) << "2 of 4 against 3 and 4, which are faster than 1";
  EXPECT_DOUBLE_EQ(range.highest->fast[1].value, 0.75);
  EXPECT_FALSE(range.lowest->all || range.lowest->solved || range.highest->all) << "as fast as it likes";
  EXPECT_FALSE(range.highest->solved);
  EXPECT_DOUBLE_EQ(range.if_all_fail.all->a, std::pow(2 * 0.1 * 0.1 * 2, 0.25))
      << "a missing time is the floor at worst";
}

TEST(CompareRangeTest, ACapBoundsSpeedups) {
  const Outcomes a = {{"1", true, 2.0}, {"2", false, {}, true}}, b = {{"1", true, 1.0}, {"2", true, 1.0}};
  CompareOptions options;
  options.cap = 8;
  const ComparisonRange range = CompareRange(a, b, options);
  EXPECT_DOUBLE_EQ(range.lowest->all->value, std::sqrt(2 * 0.1));
  EXPECT_DOUBLE_EQ(range.highest->all->value, std::sqrt(2 * 8.0));
  EXPECT_FALSE(range.lowest->solved) << "one problem";
  EXPECT_DOUBLE_EQ(range.highest->solved->value, 4);
}

TEST(CompareRangeTest, OneSideMissingHasOneEndWithoutBound) {
  const Outcomes a = {{"1", true, 2.0}, {"2", true, 2.0}, {"3", false, {}, true}};
  const Outcomes b = {{"1", true, 1.0}, {"2", true, 1.0}, {"3", true, 1.0}};
  const ComparisonRange range = CompareRange(a, b);
  EXPECT_TRUE(range.lowest->all && range.lowest->solved);
  EXPECT_FALSE(range.highest->all || range.highest->solved);
}

TEST(CompareRangeTest, ShownOnlyWhereBothEndsShowTheSame) {
  const auto contrast = [](double value, double p) { return Contrast{9, 0, 0, value, {}, p}; };
  EXPECT_TRUE(ShownAtBothEnds(contrast(0.2, 0.01), contrast(0.4, 0.001), 0));
  EXPECT_TRUE(ShownAtBothEnds(contrast(0.2, 0.01), contrast(0.4, 0.001), 1));
  EXPECT_FALSE(ShownAtBothEnds(contrast(-0.2, 0.01), contrast(0.4, 0.001), 0));
  EXPECT_FALSE(ShownAtBothEnds(contrast(0.2, 0.2), contrast(0.4, 0.001), 0));
  EXPECT_FALSE(ShownAtBothEnds(contrast(0.2, 0.01), {}, 0));
}

}  // namespace
}  // namespace kb
