// Audits of fast candidates by models. `problems audit` is another thing: it audits problems.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/generate_plan.h"
#include "cli/number_checks.h"
#include "cli/selection_flags.h"
#include "generate/budget.h"
#include "judge/problem/problem_finder.h"
#include "model/open_model.h"
#include "model/price.h"
#include "prompt/audit_questions.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct ModelAuditFlags {
  std::string run, models_file, problems, store = DefaultStore();
  std::vector<std::string> auditors;
  double above = 1, cap = 0;
  std::optional<double> max_usd;
  bool again = false, json = false, quiet = false;
};

struct Auditor {
  ModelSettings settings;
  std::unique_ptr<Provider> provider;
  std::optional<Price> price;
};

// One fast candidate and what it is asked about it.
struct Audited {
  ScoreRow row;
  std::string replay_as;
  Prompt prompt;
};

json VerdictJson(const AuditVerdict& verdict) {
  return {{"outcome", ToString(verdict.outcome)},
          {"exploits_benchmark", verdict.exploits_benchmark},
          {"works_for_new_inputs", verdict.works_for_new_inputs},
          {"only_default_stream", verdict.only_default_stream},
          {"explanation", verdict.explanation},
          {"reason", verdict.reason}};
}

Result<std::vector<Auditor>> OpenAuditors(const ModelAuditFlags& flags, const Installation& installation) {
  KB_ASSIGN_OR_RETURN(const ModelsFile file, ModelsFile::Find(flags.models_file));
  KB_ASSIGN_OR_RETURN(const PriceTables prices, PriceTables::Load(installation.models));
  std::vector<Auditor> auditors;
  std::set<std::string> names;
  for (const std::string& spec : flags.auditors) {
    Auditor auditor;
    KB_ASSIGN_OR_RETURN(auditor.settings, FindModel(spec, file));
    if (!names.insert(auditor.settings.name).second) {
      return Fail(ErrorCode::kUsage, fmt::format("--auditors names {} twice: audits are to be independent", spec));
    }
    std::string note;
    auditor.price = FindPrice(
        auditor.settings, prices, [] { return Interrupted(); }, &note);
    if (flags.max_usd && !auditor.price) {
      return Fail(ErrorCode::kUsage, fmt::format("--max-usd needs the price of {}, which is not known: give it in "
                                                 "models.toml{}",
                                                 spec, note.empty() ? "" : " (" + note + ")"));
    }
    KB_ASSIGN_OR_RETURN(auditor.provider, OpenModel(auditor.settings));
    auditors.push_back(std::move(auditor));
  }
  return auditors;
}

// The fast candidates of the run, with their prompts. A problem that has changed since cannot be audited.
Result<std::vector<Audited>> FastCandidates(const ModelAuditFlags& flags, const Installation& installation,
                                            const Store& store, std::vector<std::string>* notes) {
  KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> rows, store.Scores({.run = flags.run}));
  if (rows.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("the store {} holds no evaluation of a run {}", flags.store, flags.run));
  }
  KB_ASSIGN_OR_RETURN(const std::filesystem::path directory, ProblemDirectory(flags.problems));
  ProblemFinder finder(directory);
  std::vector<Audited> audited;
  for (const ScoreRow& row : rows) {
    if (row.verdict != "correct" || !row.speedup || *row.speedup <= flags.above) continue;
    const Result<ProblemFile>& problem = finder.Find(row.problem);
    if (!problem) return tl::make_unexpected(problem.error());
    KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem->path));
    KB_ASSIGN_OR_RETURN(const json evaluation, store.Get(row.id));
    if (evaluation.value("problem_sha256", "") != Sha256(source)) {
      notes->push_back(fmt::format("{} of {} is left out: the problem is another text now", row.id, row.problem));
      continue;
    }
    KB_ASSIGN_OR_RETURN(Prompt prompt, BuildAuditPrompt(installation.prompts, evaluation, source));
    audited.push_back({row, ReplayName(*problem), std::move(prompt)});
  }
  return audited;
}

CompletionRequest RequestFor(const Auditor& auditor, const Audited& audited) {
  CompletionRequest request = auditor.settings.NewRequest();
  request.system = audited.prompt.system;
  request.messages = {{Role::kUser, audited.prompt.user, false}};
  request.problem = audited.replay_as;
  request.sample = static_cast<int>(audited.row.sample.value_or(0));
  return request;
}

// Asks one auditor about all of them, storing each answer before the next.
class AuditRound {
 public:
  AuditRound(const ModelAuditFlags& flags, const std::vector<Audited>& audited, Store* store)
      : flags_(flags), audited_(audited), store_(store), budget_({.usd = flags.max_usd}, {}, 0, NowNs()) {}

  void Ask(const Auditor& auditor, const std::set<std::string>& known) {
    for (const Audited& candidate : audited_) {
      if (known.contains(candidate.row.id) || Interrupted() || !Fine()) continue;
      if (const Status asked = AskOne(auditor, candidate); !asked) {
        const std::lock_guard lock(mutex_);
        if (status_) status_ = asked;
      }
    }
  }
  Status status() const { return status_; }
  const std::string& ended_by() const { return budget_.ended_by(); }

 private:
  bool Fine() {
    const std::lock_guard lock(mutex_);
    return status_.has_value();
  }

  // False: the cap is reached.
  bool Reserve(const CallCost& most) {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        const Admission admission = budget_.Reserve(most, false, NowNs());
        if (admission != Admission::kWait) return admission == Admission::kGranted;
      }
      if (Interrupted()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  Status AskOne(const Auditor& auditor, const Audited& candidate) {
    const CompletionRequest request = RequestFor(auditor, candidate);
    CallCost most;
    if (auditor.price) {
      const double input = static_cast<double>(candidate.prompt.system.size() + candidate.prompt.user.size()) / 2;
      most.usd =
          (input * auditor.price->input.value_or(0) + request.max_tokens * auditor.price->output.value_or(0)) / 1e6;
    }
    if (!Reserve(most)) return {};
    const auto completion = auditor.provider->Complete(request, [] { return Interrupted(); });
    const std::optional<double> cost = completion ? CostUsd(*completion, auditor.price) : std::optional(0.0);
    {
      const std::lock_guard lock(mutex_);
      budget_.Settle(most, 0, cost);
    }
    if (!completion) return tl::make_unexpected(completion.error());
    const AuditVerdict verdict = ParseAudit(completion->text, completion->finish == FinishReason::kStop);
    EvaluationReview review;
    review.evaluation_id = candidate.row.id;
    review.auditor = auditor.settings.name;
    review.passes = verdict.passed();
    review.speedup = AuditedSpeedup(*candidate.row.speedup, flags_.cap, std::span(&verdict, 1), 1);
    review.findings = JsonLine(VerdictJson(verdict));
    const Usage& usage = completion->usage;
    const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
    review.exchange = JsonLine(json{{"system", request.system},
                                    {"user", candidate.prompt.user},
                                    {"response", completion->text},
                                    {"reasoning", completion->reasoning},
                                    {"input", or_null(usage.input)},
                                    {"output", or_null(usage.output)},
                                    {"cost_usd", or_null(cost)},
                                    {"settings", auditor.settings.ToJson()}});
    return store_->AddReview(review);
  }

  const ModelAuditFlags& flags_;
  const std::vector<Audited>& audited_;
  Store* const store_;
  std::mutex mutex_;
  Budget budget_;
  Status status_;
};

// The lower audited speedup counts; nothing while an auditor has not answered.
json AuditLine(const ModelAuditFlags& flags, const Audited& audited, const std::vector<EvaluationReview>& reviews) {
  json by = json::array();
  size_t answered = 0;
  double lowest = *audited.row.speedup;
  for (const EvaluationReview& review : reviews) {
    const auto& names = flags.auditors;
    if (review.evaluation_id != audited.row.id ||
        std::find(names.begin(), names.end(), review.auditor) == names.end()) {
      continue;
    }
    ++answered;
    lowest = std::min(lowest, review.speedup.value_or(0));
    json one = json::parse(review.findings, nullptr, false);
    one["auditor"] = review.auditor;
    one["speedup"] = review.speedup.value_or(0);
    by.push_back(std::move(one));
  }
  return {{"schema", 1},
          {"run", flags.run},
          {"id", audited.row.id},
          {"model", audited.row.model},
          {"problem", audited.row.problem},
          {"sample", audited.row.sample ? json(*audited.row.sample) : json(nullptr)},
          {"speedup", *audited.row.speedup},
          {"audits", std::move(by)},
          {"audited_speedup", answered == flags.auditors.size() ? json(lowest) : json(nullptr)}};
}

void PrintAudit(const json& line) {
  const json& audited = line.at("audited_speedup");
  fmt::print("{:<10} {:<24} {:>6} {:>8.2f}x {:>9}", line.at("problem").get<std::string>(),
             OneLine(line.at("model").get<std::string>(), 24), line.at("sample").dump(),
             line.at("speedup").get<double>(),
             audited.is_null() ? "open" : fmt::format("{:.2f}x", audited.get<double>()));
  for (const json& audit : line.at("audits")) {
    fmt::print("  {}: {}", CleanText(audit.at("auditor").get<std::string>()), audit.at("outcome").get<std::string>());
  }
  fmt::print("\n");
  for (const json& audit : line.at("audits")) {
    const std::string reason = audit.at("reason");
    if (!reason.empty()) fmt::print("    {}\n", OneLine(reason, 110));
  }
}

int AuditRun(const ModelAuditFlags& flags) {
  if (!std::filesystem::exists(flags.store)) {
    return PrintError({ErrorCode::kUsage, fmt::format("the store {} does not exist yet", flags.store)});
  }
  const auto installation = FindInstallation();
  if (!installation) return PrintError(installation.error());
  auto store = Store::Open(flags.store, {.create = false});
  if (!store) return PrintError(store.error());
  const auto auditors = OpenAuditors(flags, *installation);
  if (!auditors) return PrintError(auditors.error());
  std::vector<std::string> notes;
  const auto audited = FastCandidates(flags, *installation, *store, &notes);
  if (!audited) return PrintError(audited.error());
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
  auto reviews = store->Reviews(flags.run);
  if (!reviews) return PrintError(reviews.error());
  AuditRound round(flags, *audited, &*store);
  std::vector<std::thread> threads;
  for (const Auditor& auditor : *auditors) {
    std::set<std::string> known;
    for (const EvaluationReview& review : *reviews) {
      if (!flags.again && review.auditor == auditor.settings.name) known.insert(review.evaluation_id);
    }
    threads.emplace_back([&round, &auditor, known] { round.Ask(auditor, known); });
  }
  for (std::thread& thread : threads) thread.join();
  reviews = store->Reviews(flags.run);
  if (!reviews) return PrintError(reviews.error());
  bool all_passed = true;
  if (!flags.json && !audited->empty()) {
    fmt::print("{:<10} {:<24} {:>6} {:>9} {:>9}\n", "problem", "model", "sample", "speedup", "audited");
  }
  for (const Audited& one : *audited) {
    const json line = AuditLine(flags, one, *reviews);
    all_passed &= line.at("audited_speedup").is_number() && line.at("audited_speedup") > 0.0;
    if (flags.json) {
      fmt::print("{}", JsonLine(line));
    } else {
      PrintAudit(line);
    }
  }
  if (audited->empty() && !flags.json) fmt::print("no candidate of {} is faster than {}x\n", flags.run, flags.above);
  if (!round.ended_by().empty()) fmt::print(stderr, "ended by {}; a higher cap goes on\n", round.ended_by());
  if (const Status asked = round.status(); !asked) return PrintError(asked.error());
  if (Interrupted()) return PrintError({ErrorCode::kInterrupted, ""});
  return all_passed ? kAllCorrect : kNotAllCorrect;
}

}  // namespace

void AddModelAudit(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ModelAuditFlags>();
  CLI::App* command = app->add_subcommand(
      "audit", "have models audit the fast candidates of a run; the same command again asks what is still open");
  command->add_option("run", flags->run, "whose candidates")->required();
  command->add_option("--auditors", flags->auditors, "models, such as openai:NAME,anthropic:NAME (docs/models.md)")
      ->delimiter(',')
      ->required();
  command->add_option("--above", flags->above, "audit what is faster than this")->capture_default_str();
  command->add_option("--cap", flags->cap, "larger speedups count as this; 0: no cap")->check(CLI::Range(0.0, 1e9));
  command->add_option("--max-usd", flags->max_usd, "end it at this cost in US dollars")->check(AboveZero());
  command->add_flag("--again", flags->again, "ask again what was answered");
  command->add_option("--models-file", flags->models_file, "models.toml (docs/models.md)");
  AddProblemsFlag(command, &flags->problems);
  command->add_option("--store", flags->store, "where everything is kept")->capture_default_str();
  command->add_flag("--json", flags->json, "one line of JSON for each candidate (docs/generate.md)");
  command->callback([flags, exit_code] { *exit_code = AuditRun(*flags); });
}

}  // namespace kb::cli
