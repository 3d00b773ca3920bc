#include "report/score_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/score_rows_test_util.h"

namespace kb {
namespace {

using ::testing::ElementsAre;

TEST(ScoreGroupsTest, WhatMayNotBeMixedIsNot) {
  std::vector<ScoreRow> rows(7, Row("1/1", 0, 2.0));
  rows[1].model = "n";
  rows[2].device_name = "Other GPU";
  rows[3].protocol = "strict";
  rows[4].size = "small";
  rows[5].baseline = "compile-default";
  rows[6].device = "cpu";
  EXPECT_EQ(GroupRows(rows, kProblems, GroupBy::kModel).size(), 7u);
  rows.push_back(rows[0]);
  rows.back().problem = "1/2";
  EXPECT_EQ(GroupRows(rows, kProblems, GroupBy::kModel).size(), 7u);
}

TEST(ScoreGroupsTest, TheNewestEvaluationOfASampleCounts) {
  std::vector<ScoreRow> rows = {Row("1/1", 1, 2.0), Row("1/1", 0, 3.0), Row("1/1", 0, 4.0), Row("1/1", 0, 5.0)};
  rows[2].created = "2025-01-01T00:00:00Z";
  const auto groups = GroupRows(rows, kProblems, GroupBy::kModel);
  ASSERT_EQ(groups.at(0).problems.at(0).samples.size(), 2u);
  EXPECT_EQ(groups[0].problems[0].samples[0]->speedup, 5.0) << "a later one wins a tie";
  EXPECT_EQ(groups[0].problems[0].samples[1]->speedup, 2.0);
}

TEST(ScoreGroupsTest, RunsAddSamplesUnlessTheyJudgedTheSameText) {
  std::vector<ScoreRow> rows = {Row("1/1", 0, 2.0), Row("1/1", 0, 3.0), Row("1/1", 0, 4.0)};
  rows[1].run = "again";
  rows[1].sha256 = rows[0].sha256;
  rows[2].run = "other";
  const auto groups = GroupRows(rows, kProblems, GroupBy::kModel);
  ASSERT_EQ(groups.at(0).problems.at(0).samples.size(), 2u);
  EXPECT_EQ(groups[0].problems[0].samples[0]->speedup, 3.0);
  EXPECT_EQ(groups[0].problems[0].samples[1]->speedup, 4.0);
  EXPECT_THAT(groups[0].runs, ElementsAre("r", "again", "other"));
}

// A candidate that its text rejects never sees a device. To lose it would make the model look better than it is.
TEST(ScoreGroupsTest, RejectedByTextCountsWhereItsRunWasJudged) {
  std::vector<ScoreRow> rows = {Row("1/2", 0, {}, "static_rejected"), Row("1/1", 0, 2.0), Row("1/1", 0, 2.0),
                                Row("1/10", 0, 2.0)};
  rows[0].device_name = rows[0].torch = "";
  rows[2].device_name = "Other GPU";
  rows[3].run = "elsewhere";
  rows[3].device_name = "Third GPU";
  const auto groups = GroupRows(rows, kProblems, GroupBy::kModel);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].setting.device_name, "Other GPU");
  EXPECT_EQ(groups[0].problems.size(), 2u);
  EXPECT_EQ(groups[1].problems.size(), 2u);
  EXPECT_EQ(groups[2].problems.size(), 1u) << "another run's";
  rows.resize(1);
  EXPECT_EQ(GroupRows(rows, kProblems, GroupBy::kModel).size(), 1u) << "rejected ones alone are a group too";
}

}  // namespace
}  // namespace kb
