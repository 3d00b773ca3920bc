#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/screen.h"
#include "generate/read_trajectory.h"
#include "generate/transcript.h"
#include "generate/transcript_text.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

struct TrajectoryFlags {
  std::string run, model, problem, device, store = DefaultStore();
  std::optional<int> candidate;
  bool json = false, full = false;
};

using nlohmann::json;

void PrintAnswer(const GenerationRequest& request, const GenerationAnswer& answer) {
  fmt::print("===== {} {} sample {} turn {}, answer {} =====\n", CleanText(request.model), request.problem,
             request.sample, request.turn, answer.attempt);
  const json prompt = json::parse(answer.prompt, nullptr, false);
  if (prompt.is_object()) {
    fmt::print("----- system -----\n{}\n", CleanText(prompt.value("system", "")));
    for (const json& message : prompt.value("messages", json::array())) {
      fmt::print("----- {} -----\n{}\n", message.value("role", ""), CleanText(message.value("text", "")));
    }
  }
  if (!answer.reasoning.empty()) fmt::print("----- reasoning -----\n{}\n", CleanText(answer.reasoning));
  fmt::print("----- answer ({}) -----\n{}\n", answer.finish, CleanText(answer.response));
  if (!answer.complaint.empty()) fmt::print("----- {} -----\n", CleanText(answer.complaint));
}

// Of the terminal; where there is none, $COLUMNS or what a page has.
size_t PageColumns() {
  if (const size_t window = ColumnsOf(STDOUT_FILENO); window != kNoLimit) return window;
  const char* columns = std::getenv("COLUMNS");
  const int wanted = columns == nullptr ? 0 : std::atoi(columns);
  return wanted > 0 ? static_cast<size_t>(wanted) : TranscriptTextOptions().columns;
}

void PrintTranscript(const Transcript& transcript, const TrajectoryFlags& flags) {
  if (flags.json) {
    fmt::print("{}", JsonLine(EpisodeJson(transcript)));
    for (const TranscriptTurn& turn : transcript.turns) fmt::print("{}", JsonLine(TurnJson(turn, flags.full)));
    fmt::print("{}", JsonLine(EndJson(transcript)));
    return;
  }
  const TranscriptTextOptions options{std::max<size_t>(PageColumns(), 40), flags.full};
  fmt::print("{}", TranscriptHead(transcript, options));
  for (const TranscriptTurn& turn : transcript.turns) {
    fmt::print("{}", TurnText(turn, transcript.episode.created, options));
  }
  fmt::print("{}", TranscriptEnd(transcript, options));
}

// False: no agent works on it, and no model has answered.
Result<bool> ShowRequest(const TrajectoryFlags& flags, const GenerationRequest& request, const Store& store) {
  KB_ASSIGN_OR_RETURN(const std::optional<Transcript> transcript, ReadTranscript(store, flags.run, request));
  if (transcript) {
    PrintTranscript(*transcript, flags);
    return true;
  }
  if (flags.full) {
    return Fail(ErrorCode::kUsage,
                fmt::format("candidate {} of the run {} is no agent's, so it has no turns to show with --full; without "
                            "it, its prompts and answers are shown, whole",
                            request.candidate, flags.run));
  }
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> answers, store.AnswersTo(request.id));
  for (const GenerationAnswer& answer : answers) {
    if (flags.json) {
      fmt::print("{}", JsonLine(AnswerJson(request, answer)));
    } else {
      PrintAnswer(request, answer);
    }
  }
  return !answers.empty();
}

// What agents did for the candidates of that number, turn by turn, or every answer to their requests, whole.
Status ShowCandidate(const TrajectoryFlags& flags, const std::vector<GenerationRequest>& requests, const Store& store) {
  bool any = false;
  for (const GenerationRequest& request : requests) {
    if (request.candidate != *flags.candidate) continue;
    KB_ASSIGN_OR_RETURN(const bool shown, ShowRequest(flags, request, store));
    any = any || shown;
  }
  if (any) return {};
  return Fail(ErrorCode::kUsage,
              fmt::format("no model has answered for a candidate {} in the run {}", *flags.candidate, flags.run));
}

Status ShowTrajectory(const TrajectoryFlags& flags) {
  if (!std::filesystem::exists(flags.store)) {
    return Fail(ErrorCode::kUsage, fmt::format("the store {} does not exist yet", flags.store));
  }
  KB_ASSIGN_OR_RETURN(const Store store, Store::Open(flags.store, {.create = false}));
  const TrajectoryFilter filter{flags.run, flags.model, flags.problem, flags.device};
  if (flags.candidate) {
    KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, ReadRequests(store, filter));
    return ShowCandidate(flags, requests, store);
  }
  KB_ASSIGN_OR_RETURN(const std::vector<Trajectory> trajectories, ReadTrajectories(store, filter));
  if (trajectories.empty()) {
    const bool filtered = !flags.model.empty() || !flags.problem.empty();
    return Fail(ErrorCode::kUsage,
                fmt::format("no model has answered in a run {} of {}{}; kernelbench generate makes one", flags.run,
                            flags.store, filtered ? ", or none that --model and --problem let through" : ""));
  }
  if (flags.json) {
    fmt::print("{}", JsonLine(TrajectoriesJson(flags.run, trajectories)));
    return {};
  }
  for (const Trajectory& trajectory : trajectories) fmt::print("{}", TrajectoryText(trajectory));
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
  command->add_option("--device", flags->device,
                      "only verdicts of this device: its kind, its name, or a card, as h100");
  CLI::Option* candidate = command->add_option(
      "--candidate", flags->candidate,
      "instead: what agents did for the candidates with this number, turn by turn, or the prompts and "
      "answers of models without tools, whole");
  command->add_option("--store", flags->store, "where everything is kept")->capture_default_str();
  command->add_flag("--full", flags->full, "of agents: leaves nothing out; with --json also each answer as it came")
      ->needs(candidate);
  command->add_flag(
      "--json", flags->json,
      "one line of JSON, with every answer (docs/guide/generate.md); with --candidate a line for each turn "
      "(docs/reference/transcripts.md)");
  command->callback([flags, exit_code] {
    const Status shown = ShowTrajectory(*flags);
    *exit_code = shown ? int{kAllCorrect} : PrintError(shown.error());
  });
}

}  // namespace kb::cli
