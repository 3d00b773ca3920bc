#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/sanitize.h"
#include "cli/selection_flags.h"
#include "judge/evaluate.h"
#include "judge/process/sanitizer_process.h"
#include "report/terminal.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct EvalFlags {
  std::string problem, problems;
  std::vector<std::string> candidates;
  std::string size = "standard", device = "cpu", protocol = "strict", isolation = "namespaces", store = DefaultStore();
  std::map<std::string, std::string> keys;  // protocol keys set by flags
  bool json = false, no_store = false, quiet = false, verbose = false;
  int threads = 0, jobs = 0;
  double device_memory_gb = 0;
  std::vector<std::string> without;
  std::string sanitize;  // the tool, or empty: judge
};

EvaluatorOptions OptionsOf(const EvalFlags& flags) {
  EvaluatorOptions options;
  options.device = flags.device;
  options.isolation = flags.isolation == "process" ? Isolation::kProcess : Isolation::kNamespaces;
  options.without = {flags.without.begin(), flags.without.end()};
  options.threads = flags.threads;
  options.device_memory_gb = flags.device_memory_gb;
  options.jobs = flags.jobs;
  return options;
}

Result<Protocol> MakeProtocol(const EvalFlags& flags, const std::filesystem::path& directory) {
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(directory, flags.protocol));
  for (const auto& [key, value] : flags.keys) KB_RETURN_IF_ERROR(protocol.Set(key, value));
  protocol.ApplyPrecision();
  KB_RETURN_IF_ERROR(protocol.Validate());
  return protocol;
}

Result<std::vector<Request>> MakeRequests(const EvalFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const Protocol protocol, MakeProtocol(flags, installation.protocols));
  KB_ASSIGN_OR_RETURN(const std::filesystem::path problems, ProblemDirectory(flags.problems));
  KB_ASSIGN_OR_RETURN(const ProblemFile problem, FindProblem(problems, flags.problem));
  std::vector<Request> requests;
  for (const std::string& path : flags.candidates) {
    KB_ASSIGN_OR_RETURN(Candidate candidate, ReadCandidate(path, flags.device));
    requests.push_back({problem, flags.size, std::move(candidate), protocol});
  }
  return requests;
}

void Print(const json& evaluation, const EvalFlags& flags) {
  if (flags.json) {
    fmt::print("{}\n", evaluation.dump(-1, ' ', false, json::error_handler_t::replace));
  } else if (flags.candidates.size() == 1 || flags.verbose) {
    fmt::print("{}", Describe(evaluation, {.colour = WantsColour()}));
  }
  std::fflush(stdout);
}

int Eval(const EvalFlags& flags) {
  auto requests = MakeRequests(flags);
  if (!requests) return Report(requests.error());
  if (!flags.sanitize.empty()) {
    return SanitizeAll(*requests, OptionsOf(flags), flags.sanitize, flags.json, flags.quiet);
  }
  std::optional<Store> store;
  if (!flags.no_store && flags.without.empty()) {
    auto opened = Store::Open(flags.store);
    if (!opened) return Report(opened.error());
    store.emplace(std::move(*opened));
  }
  Progress progress(flags.quiet || flags.json, requests->size());
  EvaluatorOptions options = OptionsOf(flags);
  options.progress = [&](const std::string& line) { progress.Say(line); };
  auto evaluator = Evaluator::Create(options);
  if (!evaluator) return progress.Clear(), Report(evaluator.error());
  (*evaluator)->Prebuild(*requests);

  std::vector<json> finished;
  int exit_code = kAllCorrect;
  for (const Request& request : *requests) {
    progress.Say(fmt::format("judging {}", request.candidate.path.filename().string()));
    const auto evaluation = (*evaluator)->Evaluate(request);
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

std::string FlagName(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

}  // namespace

void AddEval(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app->add_subcommand("eval", "judge candidates for a problem");
  command->add_option("problem", flags->problem, "a number such as 1/19, or the path of a problem file")->required();
  command->add_option("candidates", flags->candidates, ".py (ModelNew) or .cpp (kb_forward) files")->required();
  AddProblemsFlag(command, &flags->problems);
  command->add_option("--size", flags->size, "standard, or a name from the problem's SIZES")->capture_default_str();
  command->add_option("--device", flags->device, "cpu, or cuda: the first NVIDIA GPU")->capture_default_str();
  command->add_option("--protocol", flags->protocol, "rules of judgement; kernelbench protocols lists them")
      ->capture_default_str();
  command->add_option("--isolation", flags->isolation, "namespaces, or process where the machine refuses those")
      ->check(CLI::IsMember({"namespaces", "process"}))
      ->capture_default_str();
  std::vector<std::string> barriers;
  for (const Barrier& barrier : kBarriers) barriers.emplace_back(barrier.name);
  command
      ->add_option("--without", flags->without,
                   "take a barrier away, to prove what it holds (docs/trust.md); implies --no-store")
      ->check(CLI::IsMember(barriers))
      ->allow_extra_args(false);
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command->add_option("--threads", flags->threads, "cores for either side; 0: all")->check(CLI::Range(0, 1024));
  command
      ->add_option("--device-memory", flags->device_memory_gb,
                   "GB of the device's memory to plan with at most; 0: what is free")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--jobs", flags->jobs, "parallel builds; 0: as many as cores")->check(CLI::Range(0, 1024));
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
  for (const Protocol::Key& key : Protocol::Keys()) {
    const std::string name = key.name;
    command
        ->add_option_function<std::string>(
            FlagName(name), [flags, name](const std::string& value) { flags->keys[name] = value; }, key.help)
        ->group("Keys of the protocol");
  }
  command->callback([flags, exit_code] { *exit_code = Eval(*flags); });
}

}  // namespace kb::cli
