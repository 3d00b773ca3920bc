#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "generate/trajectory.h"
#include "store/store.h"

namespace kb::cli {
namespace {

struct TrajectoryFlags {
  std::string run, model, problem, store = DefaultStore();
  bool json = false;
};

Status ShowTrajectory(const TrajectoryFlags& flags) {
  if (!std::filesystem::exists(flags.store)) {
    return Fail(ErrorCode::kUsage, fmt::format("the store {} does not exist yet", flags.store));
  }
  KB_ASSIGN_OR_RETURN(const Store store, Store::Open(flags.store));
  KB_ASSIGN_OR_RETURN(std::vector<GenerationRequest> requests, store.Requests(flags.run));
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> answers, store.Answers(flags.run));
  KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> rows, store.Scores({.run = flags.run}));
  std::erase_if(requests, [&](const GenerationRequest& request) {
    return (!flags.model.empty() && request.model != flags.model) ||
           (!flags.problem.empty() && request.problem != flags.problem);
  });
  const std::vector<Trajectory> trajectories = MakeTrajectories(requests, answers, rows);
  if (trajectories.empty()) {
    return Fail(
        ErrorCode::kUsage,
        fmt::format("no model has answered in a run {} of {}; kernelbench generate makes one", flags.run, flags.store));
  }
  nlohmann::json models = nlohmann::json::array();
  for (const Trajectory& trajectory : trajectories) {
    if (!flags.json) fmt::print("{}", TrajectoryText(trajectory));
    models.push_back(TrajectoryJson(trajectory));
  }
  if (flags.json) {
    fmt::print("{}", JsonLine(nlohmann::json{{"schema", 1}, {"run", flags.run}, {"models", std::move(models)}}));
  }
  return {};
}

}  // namespace

void AddTrajectory(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<TrajectoryFlags>();
  CLI::App* command =
      app->add_subcommand("trajectory", "the best so far of a generated run against turns, tokens and money");
  command->add_option("run", flags->run, "as given to generate")->required();
  command->add_option("--model", flags->model, "only this model");
  command->add_option("--problem", flags->problem, "only this problem, such as 1/19");
  command->add_option("--store", flags->store, "where everything is kept")->capture_default_str();
  command->add_flag("--json", flags->json, "one line of JSON, with every answer (docs/generate.md)");
  command->callback([flags, exit_code] {
    const Status shown = ShowTrajectory(*flags);
    *exit_code = shown ? int{kAllCorrect} : Report(shown.error());
  });
}

}  // namespace kb::cli
