#include "server/reward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const Reward& Named(const std::string& name) {
  static const std::vector<Reward> rewards = ReadRewards(std::string(KB_SOURCE_DIR) + "/rewards").value();
  for (const Reward& reward : rewards) {
    if (reward.name == name) return reward;
  }
  ADD_FAILURE() << "there is no reward " << name;
  return rewards.at(0);
}

json Ended(const std::string& verdict) {
  return {{"verdict", verdict}, {"speedup", nullptr}, {"speedup_interval", nullptr}, {"no_speedup", nullptr}};
}

json Correct(double speedup, double low, const json& author = "custom") {
  json evaluation = Ended("correct");
  evaluation["speedup"] = speedup;
  evaluation["speedup_interval"] = {low, 2 * speedup - low};
  evaluation["authorship"] = {{"class", author}};
  return evaluation;
}

json Unmeasured(const std::string& why) {
  json evaluation = Ended("correct");
  evaluation["no_speedup"] = why;
  return evaluation;
}

TEST(RewardTest, TheShippedOnesGiveWhatTheirDescriptionsSay) {
  struct Case {
    const char* reward;
    json evaluation;
    std::optional<double> expected;
    std::optional<double> best = {};
  };
  const json slow = Correct(0.5, 0.4), even = Correct(1, 0.9), fast = Correct(4, 2), huge = Correct(1000, 900);
  const std::vector<Case> cases = {
      {"kernelbench", slow, 0},
      {"kernelbench", even, 0},
      {"kernelbench", fast, 1},
      {"kernelbench", Ended("incorrect"), 0},
      {"kernelbench", Ended("build_failed"), 0},
      {"correct_and_speedup", slow, 0.8},
      {"correct_and_speedup", fast, 4.3},
      {"correct_and_speedup", huge, 1000.3},
      {"correct_and_speedup", Ended("crashed"), 0},
      {"clipped_gain", slow, -0.2},
      {"clipped_gain", fast, 3.3},
      {"clipped_gain", huge, 10.3},
      {"clipped_gain", Ended("timed_out"), 0},
      {"log_speedup", slow, -1},
      {"log_speedup", Correct(0.1, 0.1), -1},
      {"log_speedup", even, 0},
      {"log_speedup", fast, 2},
      {"log_speedup", huge, 3},
      {"log_speedup", Ended("incorrect"), 0},
      {"staged", Ended("not_run"), 0},
      {"staged", Ended("static_rejected"), 0},
      {"staged", Ended("build_failed"), 0},
      {"staged", Ended("load_failed"), 0},
      {"staged", Ended("crashed"), 0.1},
      {"staged", Ended("timed_out"), 0.1},
      {"staged", Ended("out_of_memory"), 0.1},
      {"staged", Ended("wrong_form"), 0.1},
      {"staged", Ended("non_finite"), 0.1},
      {"staged", Ended("incorrect"), 0.1},
      {"staged", Ended("tampered"), 0.1},
      {"staged", slow, 0.4},
      {"staged", Correct(1.5, 1.4), 0.9},
      {"staged", huge, 2.4},
      {"steps", slow, 0.3},
      {"steps", even, 0.3},
      {"steps", Correct(1.01, 1), 0.6},
      {"steps", Correct(1.6, 1.5), 0.9},
      {"steps", Correct(2.5, 2), 1.3},
      {"steps", fast, 1.7},
      {"steps", huge, 2.3},
      {"sure_gain", slow, 0.3},
      {"sure_gain", fast, 1.3},
      {"sure_gain", huge, 3.3},
      {"sure_gain", Correct(4, 0), 0.3},
      {"sure_gain", Correct(4, 2, "mixed"), 1.3},
      {"sure_gain", Correct(4, 2, "library"), 0.3},
      {"sure_gain", Correct(4, 2, nullptr), 1.3},  // who did the work is not known
      {"sure_increments", fast, 1.3},
      {"sure_increments", fast, 0.8, 0.5},
      {"sure_increments", fast, 0, 1.3},
      {"sure_increments", fast, 0, 5},
      {"sure_increments", Ended("incorrect"), 0, 0.5},
      {"sure_gain", fast, 1.3, 0.5},
  };
  for (const Case& one : cases) {
    const auto got = RewardOf(Named(one.reward), one.evaluation, one.best);
    ASSERT_EQ(got.has_value(), one.expected.has_value()) << one.reward << " of " << one.evaluation;
    EXPECT_NEAR(*got, *one.expected, 1e-12) << one.reward << " of " << one.evaluation;
  }
}

TEST(RewardTest, ThereIsNoneWhereTheNumberIsMissingForReasonsThatAreNotTheCandidates) {
  const auto rewards = ReadRewards(std::string(KB_SOURCE_DIR) + "/rewards").value();
  for (const char* why : {"machine_busy", "no_room", "too_short", "not_measured"}) {
    for (const Reward& reward : rewards) {
      EXPECT_FALSE(RewardOf(reward, Unmeasured(why))) << reward.name << ", " << why;
    }
  }
  EXPECT_EQ(RewardOf(Named("staged"), Unmeasured("authorship")), 0.4) << "the protocol does not accept who did it";
  EXPECT_EQ(RewardOf(Named("kernelbench"), Unmeasured("authorship")), 0);
  json wide = Correct(4, 2);
  wide["speedup_interval"] = nullptr;
  EXPECT_FALSE(RewardOf(Named("sure_gain"), wide));
  EXPECT_EQ(RewardOf(Named("correct_and_speedup"), wide), 4.3);
  json library = Unmeasured("machine_busy");
  library["authorship"] = {{"class", "library"}};
  EXPECT_EQ(RewardOf(Named("sure_gain"), library), 0.3) << "its speedup would not count";
}

TEST(RewardTest, OneThatPaysNothingForSpeedNeedsNone) {
  Reward reward;
  reward.correct = 1;
  EXPECT_EQ(RewardOf(reward, Unmeasured("not_measured")), 1);
}

class RewardFileTest : public ::testing::Test {
 protected:
  // Why a file with this text is refused.
  std::string Refused(const std::string& text) const {
    EXPECT_TRUE(WriteFileAtomic(dir_.path() / "odd.toml", text, 0600));
    const auto read = ReadRewards(dir_.path());
    EXPECT_FALSE(read) << text;
    if (read) return "";
    EXPECT_EQ(read.error().code, ErrorCode::kUsage);
    EXPECT_THAT(read.error().message, HasSubstr("odd.toml"));
    return read.error().message;
  }
  TempDir dir_ = *TempDir::Create("kb-rewards");
};

TEST_F(RewardFileTest, WhatIsWrongInOneIsSaid) {
  const std::string head = "description = \"x\"\nweight = 1.0\n";
  EXPECT_THAT(Refused("weight = "), HasSubstr("odd.toml: "));
  EXPECT_THAT(Refused(head + "wieght = 2.0"), HasSubstr("there is no key wieght"));
  EXPECT_THAT(Refused(head + "correct = \"much\""), HasSubstr("correct has a value of the wrong kind"));
  EXPECT_THAT(Refused(head + "low_end = \"yes\""), HasSubstr("low_end has a value of the wrong kind"));
  EXPECT_THAT(Refused(head + "most = \"much\""), HasSubstr("most must be a number"));
  EXPECT_THAT(Refused(head + "function = \"cube\""), HasSubstr("function must be"));
  EXPECT_THAT(Refused(head + "function = \"log2\""), HasSubstr("log2 needs least"));
  EXPECT_THAT(Refused(head + "function = \"steps\""), HasSubstr("steps belong to"));
  EXPECT_THAT(Refused(head + "steps = [[1.0, 1.0]]"), HasSubstr("steps belong to"));
  EXPECT_THAT(Refused(head + "function = \"steps\"\nsteps = 1.0"), HasSubstr("give pairs"));
  for (const char* steps : {"[1.0]", "[[1.0]]", "[[1.0, 1.0, 1.0]]", "[[\"a\", 1.0]]", "[[1.0, \"a\"]]",
                            "[[2.0, 1.0], [1.0, 2.0]]", "[[1.0, 1.0], [1.0, 2.0]]"}) {
    EXPECT_THAT(Refused(head + "function = \"steps\"\nsteps = " + steps), HasSubstr("give pairs"));
  }
  EXPECT_THAT(Refused(head + "least = nan"), HasSubstr("finite"));
  EXPECT_THAT(Refused(head + "compiled = inf"), HasSubstr("finite"));
  EXPECT_THAT(Refused(head + "least = 2.0\nmost = 1.0"), HasSubstr("least is above most"));
  EXPECT_THAT(Refused("weight = 1.0"), HasSubstr("description is missing"));
}

TEST_F(RewardFileTest, AFolderThatIsNotThereIsAnError) {
  const auto read = ReadRewards(dir_.path() / "none");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("none"));
}

TEST_F(RewardFileTest, WholeNumbersAreNumbers) {
  ASSERT_TRUE(WriteFileAtomic(dir_.path() / "whole.toml", "description = \"x\"\ncorrect = 1\nmost = 2\n", 0600));
  const auto read = ReadRewards(dir_.path());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at(0).correct, 1);
  EXPECT_EQ(read->at(0).name, "whole");
}

}  // namespace
}  // namespace kb::server
