// How a run came to what it achieved: the best so far against turns, tokens and money. Pure functions. What counts in a
// run of agents are their turns, with what the judge told them on the way; in any other run the answers.
#ifndef GENERATE_TRAJECTORY_H_
#define GENERATE_TRAJECTORY_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/episode.h"
#include "store/generation.h"
#include "store/score_row.h"

namespace kb {

// One answer, in the order in which they came; of agents, one turn.
struct TrajectoryPoint {
  std::string problem;
  int sample = 0, turn = 0, candidate = 0;
  std::optional<double> seconds = {};  // of agents: that turns have taken so far, of their models and tools
  int64_t tokens = 0;                  // of the model so far, this answer included
  std::optional<double> usd;           // likewise; absent as soon as the cost of one answer is not known
  std::string verdict;  // "": not judged; of a turn in which several were judged the fastest correct one's
  std::optional<double> speedup;
  std::optional<double> best;  // speedup of the best correct candidate of this problem so far
};

// What an agent handed in.
struct TrajectoryEnding {
  std::string problem;
  int sample = 0, candidate = 0, turns = 0;
  std::string ended_by;        // "": it goes on
  std::optional<double> best;  // on its way
  std::string verdict;         // in the run; "": not judged, or nothing handed in
  std::optional<double> speedup;
};

// After all answers up to a turn (of the strategy sample: up to a sample's number).
struct TrajectoryStep {
  int turn = 0;
  int64_t answers = 0, tokens = 0;
  std::optional<double> seconds = {};
  std::optional<double> usd;
  int problems = 0, solved = 0;  // solved: with a correct candidate
  std::optional<double> best;    // geometric mean over problems of the best speedup so far, an unsolved or unmeasured
                                 // one counting as 1; absent where nothing was measured
};

struct Trajectory {
  std::string model;
  std::vector<TrajectoryPoint> points;
  std::vector<TrajectoryStep> steps;
  // The first turn whose best is within 1% of the largest there ever was: nothing improved by more after it.
  std::optional<int> last_gain;
  // By how much the best grew a turn, as a share, over the last quarter of the turns; absent where those are fewer than
  // two with a best.
  std::optional<double> slope;
  std::vector<TrajectoryEnding> endings = {};  // of agents, by problem and sample
};

// One for each model, in the order of their names. `rows`: the evaluations of the run.
std::vector<Trajectory> MakeTrajectories(std::span<const GenerationRequest> requests,
                                         std::span<const GenerationAnswer> answers, std::span<const ScoreRow> rows);

// An agent's turn as far as it matters here.
struct AgentTurn {
  int number = 0;
  std::string created;
  int64_t tokens = 0;         // those of lost calls included
  std::optional<double> usd;  // likewise; absent where it is not known
  double seconds = 0;
  std::string verdict;
  std::optional<double> speedup;
};
struct AgentEpisode {
  GenerationRequest request;
  std::string ended_by;
  std::vector<AgentTurn> turns;
};
AgentEpisode MakeAgentEpisode(const GenerationRequest& request, const std::string& ended_by,
                              std::span<const Turn> turns, std::span<const TurnVerdict> verdicts);
std::vector<Trajectory> MakeAgentTrajectories(std::span<const AgentEpisode> episodes, std::span<const ScoreRow> rows);

nlohmann::json TrajectoryJson(const Trajectory& trajectory);
std::string TrajectoryText(const Trajectory& trajectory);

}  // namespace kb

#endif  // GENERATE_TRAJECTORY_H_
