#include "generate/read_trajectory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/card.h"
#include "generate/transcript.h"

namespace kb {

using nlohmann::json;

namespace {

// Those of a run's requests that are agents'.
Result<std::vector<AgentEpisode>> ReadEpisodes(const std::vector<GenerationRequest>& requests, const Store& store) {
  std::vector<AgentEpisode> episodes;
  for (const GenerationRequest& request : requests) {
    KB_ASSIGN_OR_RETURN(const std::optional<Episode> episode, store.FindEpisode(request.id));
    if (!episode) continue;
    KB_ASSIGN_OR_RETURN(const std::vector<Turn> turns, store.Turns(request.id));
    KB_ASSIGN_OR_RETURN(const std::vector<TurnVerdict> verdicts, store.TurnVerdicts(request.id));
    episodes.push_back(MakeAgentEpisode(request, episode->ended_by, turns, verdicts));
  }
  return episodes;
}

// The run's evaluations, on the device of the filter. A run over cards has several, which are not mixed.
Result<std::vector<ScoreRow>> RowsOnOneDevice(const TrajectoryFilter& filter, const Store& store) {
  KB_ASSIGN_OR_RETURN(std::vector<ScoreRow> rows, store.Scores({.run = filter.run}));
  KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, store.Jobs(filter.run));
  if (!filter.device.empty()) {
    std::erase_if(rows, [&](const ScoreRow& row) {
      return !row.device_name.empty() && row.device != filter.device && !IsCard(row.device_name, filter.device);
    });
  }
  std::set<std::string> names;
  for (const ScoreRow& row : rows) {
    if (!row.device_name.empty()) names.insert(row.device_name);
  }
  const bool over_cards =
      std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return !CardOf(job.device).empty(); });
  if (over_cards && names.size() > 1) {
    return Fail(ErrorCode::kUsage, fmt::format("the run was judged on several devices, which are not mixed; choose one "
                                               "with --device: {}",
                                               fmt::join(names, ", ")));
  }
  return rows;
}

}  // namespace

Result<std::vector<GenerationRequest>> ReadRequests(const Store& store, const TrajectoryFilter& filter) {
  KB_ASSIGN_OR_RETURN(std::vector<GenerationRequest> requests, store.Requests(filter.run));
  std::erase_if(requests, [&](const GenerationRequest& request) {
    return (!filter.model.empty() && request.model != filter.model) ||
           (!filter.problem.empty() && request.problem != filter.problem);
  });
  return requests;
}

Result<std::vector<Trajectory>> ReadTrajectories(const Store& store, const TrajectoryFilter& filter) {
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, ReadRequests(store, filter));
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> answers, store.Answers(filter.run));
  KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> rows, RowsOnOneDevice(filter, store));
  KB_ASSIGN_OR_RETURN(const std::vector<AgentEpisode> episodes, ReadEpisodes(requests, store));
  return episodes.empty() ? MakeTrajectories(requests, answers, rows) : MakeAgentTrajectories(episodes, rows);
}

json TrajectoriesJson(const std::string& run, std::span<const Trajectory> trajectories) {
  json models = json::array();
  for (const Trajectory& trajectory : trajectories) models.push_back(TrajectoryJson(trajectory));
  return {{"schema", 1}, {"run", run}, {"models", std::move(models)}};
}

json AnswerJson(const GenerationRequest& request, const GenerationAnswer& answer) {
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  return {{"schema", 1},
          {"model", request.model},
          {"problem", request.problem},
          {"sample", request.sample},
          {"turn", request.turn},
          {"candidate", request.candidate},
          {"attempt", answer.attempt},
          {"created", answer.created},
          {"prompt", ParseStored(answer.prompt)},
          {"response", answer.response},
          {"reasoning", answer.reasoning},
          {"finish", answer.finish},
          {"answered_by", answer.answered_by},
          {"input", or_null(answer.input)},
          {"cache_read", or_null(answer.cache_read)},
          {"cache_write", or_null(answer.cache_write)},
          {"output", or_null(answer.output)},
          {"reasoning_tokens", or_null(answer.reasoning_tokens)},
          {"cost_usd", or_null(answer.cost_usd)},
          {"price_source", answer.price_source},
          {"calls", answer.calls},
          {"seconds", answer.seconds},
          {"source_sha256", answer.source_sha256},
          {"language", answer.language},
          {"complaint", answer.complaint}};
}

}  // namespace kb
