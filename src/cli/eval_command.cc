#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/progress.h"
#include "cli/sanitize.h"
#include "cli/selection_flags.h"
#include "judge/evaluate.h"
#include "judge/sanitize/sanitizer_output.h"
#include "report/terminal.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct EvalFlags {
  std::shared_ptr<JudgeFlags> judge = std::make_shared<JudgeFlags>();
  std::string problem, problems, store = DefaultStore();
  std::vector<std::string> candidates;
  bool json = false, no_store = false, quiet = false, verbose = false;
  std::string sanitize;  // the tool, or empty: judge
};

Result<std::vector<Request>> MakeRequests(const EvalFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const Protocol protocol, ProtocolOf(*flags.judge, installation.protocols));
  KB_ASSIGN_OR_RETURN(const std::filesystem::path problems, ProblemDirectory(flags.problems));
  KB_ASSIGN_OR_RETURN(const ProblemFile problem, FindProblem(problems, flags.problem));
  std::vector<Request> requests;
  for (const std::string& path : flags.candidates) {
    KB_ASSIGN_OR_RETURN(Candidate candidate, ReadCandidate(path, flags.judge->device));
    requests.push_back({problem, flags.judge->size, std::move(candidate), protocol});
  }
  return requests;
}

std::vector<RunnerNeeds> NeedsAhead(const std::vector<Request>& requests, size_t first, const std::string& device) {
  std::vector<RunnerNeeds> needs;
  for (size_t i = first; i < std::min(requests.size(), first + RunnersAhead(device)); ++i) {
    needs.push_back(NeedsOf(requests[i]));
  }
  return needs;
}

void Print(const json& evaluation, const EvalFlags& flags) {
  if (flags.json) {
    fmt::print("{}", JsonLine(evaluation));
  } else if (flags.candidates.size() == 1 || flags.verbose) {
    fmt::print("{}", Describe(evaluation, {.colour = WantsColour()}));
  }
  std::fflush(stdout);
}

int Eval(const EvalFlags& flags) {
  auto requests = MakeRequests(flags);
  if (!requests) return Report(requests.error());
  if (!flags.sanitize.empty()) {
    return SanitizeAll(*requests, OptionsOf(*flags.judge), flags.sanitize, flags.json, flags.quiet);
  }
  std::optional<Store> store;
  if (!flags.no_store && flags.judge->without.empty()) {
    auto opened = Store::Open(flags.store);
    if (!opened) return Report(opened.error());
    store.emplace(std::move(*opened));
  }
  Progress progress(flags.quiet || flags.json, requests->size());
  EvaluatorOptions options = OptionsOf(*flags.judge);
  options.progress = [&](const std::string& line) { progress.Say(line); };
  auto evaluator = Evaluator::Create(options);
  if (!evaluator) return progress.Clear(), Report(evaluator.error());
  std::vector<Result<Prepared>> prepared = (*evaluator)->PrepareAll(*requests);

  std::vector<json> finished;
  int exit_code = kAllCorrect;
  for (size_t i = 0; i < requests->size(); ++i) {
    const Request& request = (*requests)[i];
    progress.Say(fmt::format("judging {}", request.candidate.path.filename().string()));
    const auto evaluation =
        prepared[i] ? (*evaluator)->EvaluateToTheEnd(&*prepared[i], NeedsAhead(*requests, i + 1, options.device))
                    : tl::make_unexpected(prepared[i].error());
    prepared[i] = Fail(ErrorCode::kInterrupted, "judged");  // what it holds of the cache is free
    progress.Done();
    if (!evaluation) {
      progress.Clear();
      const Error& error = evaluation.error();
      const bool one_of_many = requests->size() > 1 && error.code != ErrorCode::kInterrupted;
      exit_code = std::max<int>(
          exit_code,
          Report(one_of_many ? Error{error.code, request.candidate.path.string() + ": " + error.message} : error));
      if (error.code == ErrorCode::kUsage || error.code == ErrorCode::kInterrupted)
        break;  // the others share the problem
      continue;
    }
    json result = evaluation->ToJson();
    if (store) {
      if (const Status added = store->Add(result); !added) {
        progress.Clear();
        exit_code = std::max<int>(exit_code, Report(added.error()));
      }
    }
    if (evaluation->verdict != Verdict::kCorrect) exit_code = std::max<int>(exit_code, kNotAllCorrect);
    progress.Clear();
    Print(result, flags);
    finished.push_back(std::move(result));
  }
  if (!flags.json && finished.size() > 1) {
    fmt::print("{}\n{}", TerminalTable(finished, {.colour = WantsColour()}), ScoreSummary(finished));
  }
  return exit_code;
}

}  // namespace

void AddEval(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app->add_subcommand("eval", "judge candidates for a problem");
  command->add_option("problem", flags->problem, "a number such as 1/19, or the path of a problem file")->required();
  command->add_option("candidates", flags->candidates, ".py (ModelNew) or .cpp (kb_forward) files")->required();
  AddProblemsFlag(command, &flags->problems);
  AddJudgeFlags(command, flags->judge);
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command
      ->add_option("--sanitize", flags->sanitize,
                   "do not judge, but run once under compute-sanitizer: memcheck (as bare --sanitize), racecheck, "
                   "initcheck, synccheck; needs --device cuda and the CUDA toolkit")
      ->expected(0, 1)
      ->default_str("memcheck")
      ->check(CLI::IsMember(SanitizerTools()));
  command->add_flag("--json", flags->json, "one line of JSON for each candidate (docs/evaluation.md)");
  command->add_flag("--no-store", flags->no_store, "keep nothing");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->add_flag("--verbose", flags->verbose, "each evaluation in full");
  command->callback([flags, exit_code] { *exit_code = Eval(*flags); });
}

}  // namespace kb::cli
