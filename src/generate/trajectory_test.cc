#include "generate/trajectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kb {
namespace {

using ::testing::HasSubstr;

class TrajectoryTest : public ::testing::Test {
 protected:
  // One answered request, judged; its answers came in the order of these calls.
  void Candidate(const std::string& problem, int sample, int turn, const std::string& verdict,
                 std::optional<double> speedup, std::optional<double> usd = 0.5) {
    GenerationRequest request;
    request.id = static_cast<int64_t>(requests_.size()) + 1;
    request.model = "m";
    request.problem = problem;
    request.sample = sample;
    request.turn = turn;
    request.candidate = 10 * turn + sample;
    request.state = "answered";
    GenerationAnswer answer;
    answer.id = static_cast<int64_t>(answers_.size()) + 1;
    answer.request = request.id;
    answer.input = 60;
    answer.output = 40;
    answer.cost_usd = usd;
    ScoreRow row;
    row.model = "m";
    row.problem = problem;
    row.sample = request.candidate;
    row.verdict = verdict;
    row.speedup = speedup;
    requests_.push_back(request);
    answers_.push_back(answer);
    if (!verdict.empty()) rows_.push_back(row);
  }
  Trajectory Made() const {
    const auto all = MakeTrajectories(requests_, answers_, rows_);
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }
  std::vector<GenerationRequest> requests_;
  std::vector<GenerationAnswer> answers_;
  std::vector<ScoreRow> rows_;
};

TEST_F(TrajectoryTest, TheBestSoFarAgainstTurnsTokensAndMoney) {
  Candidate("a", 0, 0, "incorrect", {});
  Candidate("b", 0, 0, "correct", 2.0);
  Candidate("b", 0, 1, "correct", 1.5);
  Candidate("a", 0, 1, "correct", 0.5);
  Candidate("a", 0, 2, "build_failed", {});
  const Trajectory trajectory = Made();
  ASSERT_EQ(trajectory.steps.size(), 3u);
  EXPECT_EQ(trajectory.steps[0].solved, 1);
  EXPECT_NEAR(*trajectory.steps[0].best, std::sqrt(2.0), 1e-12) << "a counts as 1";
  EXPECT_EQ(trajectory.steps[1].answers, 4);
  EXPECT_EQ(trajectory.steps[1].tokens, 400);
  EXPECT_DOUBLE_EQ(*trajectory.steps[1].usd, 2.0);
  EXPECT_EQ(trajectory.steps[1].solved, 2);
  EXPECT_NEAR(*trajectory.steps[1].best, 1.0, 1e-12) << "sqrt(2 x 0.5)";
  EXPECT_DOUBLE_EQ(*trajectory.steps[2].best, *trajectory.steps[1].best);
  ASSERT_EQ(trajectory.points.size(), 5u);
  EXPECT_EQ(trajectory.points[2].best, 2.0);
  EXPECT_EQ(trajectory.points[4].tokens, 500);
  EXPECT_EQ(trajectory.points[4].best, 0.5);
  EXPECT_THAT(TrajectoryText(trajectory), HasSubstr("1.41x"));
  EXPECT_EQ(TrajectoryJson(trajectory).at("points").at(0).at("best"), nullptr);
}

TEST_F(TrajectoryTest, TellsWhenItEndedToImproveAndHowItGrowsAtTheEnd) {
  const double best[] = {1, 2, 3.99, 4, 4, 4, 4, 4};
  for (int turn = 0; turn < 8; ++turn) Candidate("a", 0, turn, "correct", best[turn]);
  const Trajectory flat = Made();
  EXPECT_EQ(flat.last_gain, 2) << "4 is within 1% of 3.99";
  EXPECT_DOUBLE_EQ(*flat.slope, 0);
  EXPECT_THAT(TrajectoryText(flat), HasSubstr("nothing improved by 1% after turn 2"));
  Candidate("a", 0, 8, "correct", 16.0);
  const Trajectory growing = Made();
  EXPECT_EQ(growing.last_gain, 8);
  EXPECT_NEAR(*growing.slope, std::cbrt(4.0) - 1, 1e-12) << "from 4 to 16 in the last three of nine turns";
  EXPECT_EQ(TrajectoryJson(growing).at("last_gain"), 8);
}

TEST_F(TrajectoryTest, WithoutASpeedupThereIsNoEnd) {
  Candidate("a", 0, 0, "incorrect", {});
  EXPECT_FALSE(Made().last_gain);
  EXPECT_EQ(TrajectoryJson(Made()).at("slope"), nullptr);
}

TEST_F(TrajectoryTest, SamplesOfOneTurnAreSteps) {
  Candidate("a", 1, 0, "correct", 3.0);
  Candidate("a", 0, 0, "correct", 2.0);
  const Trajectory trajectory = Made();
  ASSERT_EQ(trajectory.steps.size(), 2u);
  EXPECT_DOUBLE_EQ(*trajectory.steps[0].best, 2.0) << "after the first sample, though it came last";
  EXPECT_DOUBLE_EQ(*trajectory.steps[1].best, 3.0);
}

TEST_F(TrajectoryTest, AnUnknownCostMakesTheSumUnknownAndNoVerdictIsNone) {
  Candidate("a", 0, 0, "correct", {}, 0.5);
  Candidate("a", 0, 1, "", {}, std::nullopt);
  const Trajectory trajectory = Made();
  EXPECT_TRUE(trajectory.steps[0].usd);
  EXPECT_FALSE(trajectory.steps[1].usd);
  EXPECT_FALSE(trajectory.steps[1].best) << "nothing was measured";
  EXPECT_EQ(trajectory.steps[1].solved, 1);
  EXPECT_EQ(trajectory.points[1].verdict, "");
  EXPECT_THAT(TrajectoryText(trajectory), HasSubstr("unknown"));
}

}  // namespace
}  // namespace kb
