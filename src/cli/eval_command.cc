#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/progress.h"
#include "cli/sanitize.h"
#include "cli/screen.h"
#include "cli/selection_flags.h"
#include "cli/warm_service.h"
#include "jobs/job_loop.h"
#include "judge/devices/cuda/sanitizer_output.h"
#include "judge/devices/device_kind.h"
#include "report/terminal.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct EvalFlags {
  std::shared_ptr<JudgeFlags> judge = std::make_shared<JudgeFlags>();
  std::string problem, problems, store = DefaultStore();
  std::vector<std::string> candidates;
  bool json = false, no_store = false, no_service = false, quiet = false, verbose = false;
  std::string sanitize;  // the tool, or empty: judge
};

Result<std::vector<Request>> MakeRequests(const EvalFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const Protocol protocol, ProtocolOf(*flags.judge, installation.protocols));
  KB_ASSIGN_OR_RETURN(const std::filesystem::path problems, ProblemDirectory(flags.problems));
  KB_ASSIGN_OR_RETURN(const ProblemFile problem, FindProblem(problems, flags.problem));
  KB_RETURN_IF_ERROR(CheckDevice(flags.judge->device));
  KB_ASSIGN_OR_RETURN(const std::string size, ChosenSize(flags.judge->size, flags.judge->device, {problem}));
  std::vector<Request> requests;
  for (const std::string& path : flags.candidates) {
    KB_ASSIGN_OR_RETURN(Candidate candidate, ReadCandidate(path, flags.judge->device));
    requests.push_back({problem, size, std::move(candidate), protocol});
  }
  return requests;
}

// What became of the candidates: stored and told as each ends; lines of JSON in the order in which they were given.
class Results {
 public:
  Results(const EvalFlags& flags, const std::vector<Request>& requests, Store* store, Progress* progress)
      : flags_(flags), requests_(requests), store_(store), progress_(progress), ends_(requests.size()) {}

  void Add(size_t at, const Result<json>& end) {
    progress_->Done();
    if (end) Keep(*end);
    if (!flags_.json) return Print(at, end);
    ends_[at] = end;
    while (printed_ < ends_.size() && ends_[printed_]) Print(printed_, *ends_[printed_]), ++printed_;
  }
  // The exit code.
  int Finish(const Status& judged) {
    for (size_t i = printed_; i < ends_.size(); ++i) {  // before which one is missing
      if (ends_[i]) Print(i, *ends_[i]);
    }
    progress_->Clear();
    return judged ? exit_code_ : std::max<int>(exit_code_, PrintError(judged.error(), AfterInterrupt()));
  }

 private:
  void Keep(const json& evaluation) {
    ++judged_;
    if (evaluation.at("verdict") != VerdictName(Verdict::kCorrect)) {
      exit_code_ = std::max<int>(exit_code_, kNotAllCorrect);
    }
    if (store_ == nullptr) return;
    if (const Status added = store_->Add(evaluation); !added) {
      progress_->Clear();
      exit_code_ = std::max<int>(exit_code_, PrintError(added.error()));
    }
  }
  void Print(size_t at, const Result<json>& end) {
    if (!end) return PrintFailure(at, end.error());
    if (flags_.json) return progress_->Print(JsonLine(*end));
    const bool whole = requests_.size() == 1 || flags_.verbose;
    const std::string name = requests_[at].candidate.path.filename().string();
    progress_->Print(whole ? Describe(*end, OnScreen()) : ResultLine(*end, name, OnScreen()));
  }
  void PrintFailure(size_t at, const Error& error) {
    progress_->Clear();
    if (error.code == ErrorCode::kInterrupted) return;
    const bool of_all = requests_.size() == 1 || error.code == ErrorCode::kUsage;  // they share the problem
    if (of_all && told_all_) return;
    told_all_ |= of_all;
    const std::string prefix = requests_.size() > 1 ? requests_[at].candidate.path.string() + ": " : "";
    exit_code_ = std::max<int>(exit_code_, PrintError({error.code, prefix + error.message}));
  }
  std::string AfterInterrupt() const {
    const char* kept = judged_ == 0 ? "" : store_ == nullptr ? "; nothing is stored" : ", which is stored";
    return fmt::format("{} of {} judged{}. The same command judges all of them", judged_, requests_.size(), kept);
  }

  const EvalFlags& flags_;
  const std::vector<Request>& requests_;
  Store* const store_;
  Progress* const progress_;
  std::vector<std::optional<Result<json>>> ends_;  // with --json
  size_t printed_ = 0;
  size_t judged_ = 0;
  int exit_code_ = kAllCorrect;
  bool told_all_ = false;
};

// A run of these candidates, of which no job is kept.
Status JudgeAll(const EvalFlags& flags, const std::vector<Request>& requests, Progress* progress, Results* results) {
  EvaluatorOptions evaluator = OptionsOf(*flags.judge);
  evaluator.progress = [&](const std::string& line) { progress->Say(line); };
  const auto queue = QueueInMemory();
  JobLoopOptions options;
  if (!flags.no_service) {
    options.executor = WarmService(flags.store, {flags.judge->device}, *flags.judge, flags.quiet || flags.json);
  }
  options.make_judge = EvaluatorJudges(evaluator);
  options.devices = {flags.judge->device};
  options.compilations = flags.judge->jobs;
  options.queue = queue.get();
  options.judging = [&](const Job& job) {
    const Request& request = requests[static_cast<size_t>(job.sample)];
    progress->Say(fmt::format("judging {}", request.candidate.path.filename().string()));
  };
  options.tell = [&](const JobEnd& end) -> Status {
    results->Add(static_cast<size_t>(end.job.sample), end.evaluation);
    return {};
  };
  KB_ASSIGN_OR_RETURN(const auto loop, JobLoop::Create(std::move(options)));
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    Job wanted;
    wanted.sample = static_cast<int>(i);
    wanted.size = request.size;
    wanted.priority = 1;  // somebody waits for it
    KB_ASSIGN_OR_RETURN(const Job job, queue->Add(wanted));
    Task task;
    task.problem = request.problem;
    task.protocol = std::make_shared<const Protocol>(request.protocol);
    task.read = [&request]() -> Result<Candidate> { return request.candidate; };
    loop->Submit(job, std::move(task));
  }
  loop->Drain();
  return loop->Stop();
}

int Eval(EvalFlags flags) {
  flags.judge->device = DeviceFor(flags.judge->device, flags.candidates);
  const auto requests = MakeRequests(flags);
  if (!requests) return PrintError(requests.error());
  if (!flags.sanitize.empty()) {
    return SanitizeAll(*requests, OptionsOf(*flags.judge), flags.sanitize, flags.json, flags.quiet);
  }
  std::optional<Store> store;
  if (!flags.no_store && flags.judge->without.empty()) {
    auto opened = Store::Open(flags.store);
    if (!opened) return PrintError(opened.error());
    store.emplace(std::move(*opened));
  }
  Progress progress(flags.quiet || flags.json, requests->size());
  Results results(flags, *requests, store ? &*store : nullptr, &progress);
  return results.Finish(JudgeAll(flags, *requests, &progress, &results));
}

}  // namespace

void AddEval(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app->add_subcommand("eval", "judge candidates for a problem");
  command->add_option("problem", flags->problem, "a number such as 1/19, or the path of a problem file")->required();
  command
      ->add_option("candidates", flags->candidates,
                   ".py (ModelNew) or .cpp (kb_forward) files, or folders with a model_new.py")
      ->required();
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
  command->add_flag("--json", flags->json, "one line of JSON for each candidate (docs/reference/evaluation.md)");
  command->add_flag("--no-store", flags->no_store, "keep nothing");
  AddServiceFlag(command, &flags->no_service);
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->add_flag("--verbose", flags->verbose, "each evaluation in full");
  command->callback([flags, exit_code] { *exit_code = Eval(*flags); });
}

}  // namespace kb::cli
