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

class AgentTrajectoryTest : public ::testing::Test {
 protected:
  // A turn in which something may have been evaluated.
  void Add(AgentEpisode* episode, std::optional<double> speedup = {}, const std::string& verdict = "") {
    AgentTurn turn;
    turn.number = static_cast<int>(episode->turns.size()) + 1;
    turn.created = "2026-11-30T10:00:0" + std::to_string(turn.number) + "Z";
    turn.tokens = 100;
    turn.usd = 0.5;
    turn.seconds = 1800;
    turn.verdict = speedup ? "correct" : verdict;
    turn.speedup = speedup;
    episode->turns.push_back(turn);
  }
  AgentEpisode Episode(const std::string& problem, int sample, const std::string& ended_by) {
    AgentEpisode episode;
    episode.request.model = "m";
    episode.request.problem = problem;
    episode.request.sample = episode.request.candidate = sample;
    episode.ended_by = ended_by;
    return episode;
  }
};

TEST_F(AgentTrajectoryTest, CountsTurnsAndWhatTheJudgeToldOnTheWay) {
  AgentEpisode first = Episode("1/1", 0, "submit"), second = Episode("1/2", 0, "");
  Add(&first, {}, "incorrect");
  Add(&first, 2.0);
  Add(&first, 1.5);
  Add(&second);
  Add(&second, {}, "correct");
  ScoreRow row;
  row.model = "m";
  row.problem = "1/1";
  row.sample = 0;
  row.verdict = "correct";
  row.speedup = 1.4;
  const auto all = MakeAgentTrajectories(std::vector{first, second}, std::vector{row});
  ASSERT_EQ(all.size(), 1u);
  const Trajectory& trajectory = all[0];
  ASSERT_EQ(trajectory.steps.size(), 3u);
  EXPECT_EQ(trajectory.steps[0].tokens, 200);
  EXPECT_FALSE(trajectory.steps[0].best);
  EXPECT_EQ(trajectory.steps[1].solved, 2);
  EXPECT_NEAR(*trajectory.steps[1].best, std::sqrt(2.0), 1e-12);
  EXPECT_DOUBLE_EQ(*trajectory.steps[2].seconds, 5 * 1800);
  EXPECT_DOUBLE_EQ(*trajectory.steps[2].usd, 2.5);
  EXPECT_EQ(trajectory.last_gain, 2);
  ASSERT_EQ(trajectory.endings.size(), 2u);
  EXPECT_EQ(trajectory.endings[0].best, 2.0);
  EXPECT_EQ(trajectory.endings[0].speedup, 1.4) << "judged again in the run";
  const nlohmann::json object = TrajectoryJson(trajectory);
  EXPECT_EQ(object.at("points").size(), 5u);
  EXPECT_EQ(object.at("episodes").at(1).at("ended_by"), nullptr);
  const std::string text = TrajectoryText(trajectory);
  EXPECT_THAT(text, HasSubstr("      2   2:00:00          400    $2.0000       2/2    1.41x\n"));
  EXPECT_THAT(text, HasSubstr("goes on"));
}

TEST_F(AgentTrajectoryTest, ShowsOfManyTurnsThoseInWhichSomethingCameOfIt) {
  AgentEpisode episode = Episode("1/1", 0, "turns");
  for (int turn = 1; turn <= 1200; ++turn) Add(&episode, turn < 600 ? 1.0 + turn / 300.0 : 4.0);
  const Trajectory trajectory = MakeAgentTrajectories(std::vector{episode}, {}).at(0);
  EXPECT_EQ(TrajectoryJson(trajectory).at("steps").size(), 1200u);
  const std::string text = TrajectoryText(trajectory);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 45);
  EXPECT_THAT(text, HasSubstr("\n    600 "));
  EXPECT_THAT(text, HasSubstr("\n   1200 "));
  EXPECT_THAT(text, HasSubstr("nothing improved by 1% after turn 600"));
}

TEST_F(AgentTrajectoryTest, OfATurnTheFastestCorrectVerdictCountsAndLostCallsTheirMost) {
  Turn answered{.number = 1, .state = "done", .lost = 1, .lost_tokens = 7, .lost_usd = 0.25};
  answered.input = 100;
  answered.cache_read = 20;
  answered.output = 3;
  answered.cost_usd = 0.5;
  answered.seconds = 2;
  answered.tool_seconds = 3;
  Turn priceless = answered;
  priceless.number = 2;
  priceless.cost_usd.reset();
  Turn asked{.number = 3, .state = "asked", .lost = 1, .lost_tokens = 9, .lost_usd = 0.125};
  const std::vector<TurnVerdict> verdicts = {{.turn = 1, .verdict = "correct", .speedup = 1.5},
                                             {.turn = 1, .verdict = "correct", .speedup = 1.2},
                                             {.turn = 1, .verdict = "incorrect"},
                                             {.turn = 1, .tool = "compile"},
                                             {.turn = 2, .verdict = "incorrect"},
                                             {.turn = 2, .verdict = "correct"},
                                             {.turn = 9, .verdict = "correct"}};
  const AgentEpisode episode = MakeAgentEpisode({}, "", std::vector{answered, priceless, asked}, verdicts);
  ASSERT_EQ(episode.turns.size(), 3u);
  EXPECT_EQ(episode.turns[0].tokens, 130);
  EXPECT_DOUBLE_EQ(*episode.turns[0].usd, 0.75);
  EXPECT_DOUBLE_EQ(episode.turns[0].seconds, 5);
  EXPECT_EQ(episode.turns[0].speedup, 1.5);
  EXPECT_FALSE(episode.turns[1].usd);
  EXPECT_EQ(episode.turns[1].verdict, "correct");
  EXPECT_EQ(episode.turns[2].tokens, 9);
  EXPECT_DOUBLE_EQ(*episode.turns[2].usd, 0.125);
}

}  // namespace
}  // namespace kb
