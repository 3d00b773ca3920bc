// Audits of a run's fast candidates, without a model and by models. `problems audit` is another thing: it audits
// problems.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/interrupt.h"
#include "cli/audit_candidates.h"
#include "cli/audit_round.h"
#include "cli/commands.h"
#include "cli/generate_plan.h"
#include "cli/number_checks.h"
#include "cli/selection_flags.h"
#include "prompt/audit_questions.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct ModelAuditFlags {
  std::string run, models_file, problems, store = DefaultStore();
  std::vector<std::string> auditors;
  double above = 1, cap = 0;
  std::optional<double> max_usd;
  bool mechanical = false, json = false;
  MechanicalFlags without_model;
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
          {"mechanical", audited.mechanical.ToJson()},
          {"audited_speedup", flags.mechanical || answered < flags.auditors.size() ? json(nullptr) : json(lowest)}};
}

std::string HeldOutText(const Mechanical& mechanical) {
  if (mechanical.sizes.size() < 2) return "the problem has no other size";
  if (mechanical.held_out.empty()) return "judged at no other size; --held-out does";
  std::string text;
  for (const HeldOut& each : mechanical.held_out) {
    text += fmt::format("{}{} {}{}", text.empty() ? "at other sizes: " : ", ", OneLine(each.size, 40),
                        OneLine(each.verdict, 40), each.speedup ? " " + FormatSpeedup(each.speedup) : "");
  }
  return text;
}

void PrintAudit(const ModelAuditFlags& flags, const Audited& audited, const json& line) {
  const json& speedup = line.at("audited_speedup");
  fmt::print("{:<10} {:<24} {:>6} {:>8.2f}x", line.at("problem").get<std::string>(),
             OneLine(line.at("model").get<std::string>(), 24), line.at("sample").dump(),
             line.at("speedup").get<double>());
  if (!flags.mechanical) {
    fmt::print(" {:>9}", speedup.is_null() ? "open" : fmt::format("{:.2f}x", speedup.get<double>()));
  }
  for (const json& audit : line.at("audits")) {
    fmt::print("  {}: {}", CleanText(audit.at("auditor").get<std::string>()), audit.at("outcome").get<std::string>());
  }
  fmt::print("\n");
  for (const json& audit : line.at("audits")) {
    const std::string reason = audit.at("reason");
    if (!reason.empty()) fmt::print("    {}\n", OneLine(reason, 110));
  }
  for (const AuditFinding& finding : audited.mechanical.findings) {
    fmt::print("    {}{}: {}\n", finding.audit, finding.where.empty() ? "" : ", " + finding.where,
               OneLine(finding.says, 160));
    if (!finding.evidence.empty()) fmt::print("        {}\n", OneLine(finding.evidence, 160));
  }
  fmt::print("    {}\n", HeldOutText(audited.mechanical));
}

Result<std::vector<AuditQuestion>> QuestionsAbout(const std::vector<Audited>& audited, const Store& store,
                                                  const Installation& installation) {
  std::vector<AuditQuestion> questions;
  for (const Audited& one : audited) {
    KB_ASSIGN_OR_RETURN(const json evaluation, store.Get(one.row.id));
    const AuditMaterial material{FindingsText(one.mechanical.findings), one.digest};
    KB_ASSIGN_OR_RETURN(Prompt prompt,
                        BuildAuditPrompt(installation.prompts, evaluation, one.problem_source, material));
    questions.push_back({one.row.id, ReplayName(one.problem), static_cast<int>(one.row.sample.value_or(0)),
                         *one.row.speedup, std::move(prompt)});
  }
  return questions;
}

// What is still open is asked. `ended_by`: a cap.
Status AskModels(const ModelAuditFlags& flags, const std::vector<Auditor>& auditors,
                 const std::vector<Audited>& audited, const Installation& installation, Store* store,
                 std::string* ended_by) {
  KB_ASSIGN_OR_RETURN(const std::vector<AuditQuestion> questions, QuestionsAbout(audited, *store, installation));
  KB_ASSIGN_OR_RETURN(const std::vector<EvaluationReview> reviews, store->Reviews(flags.run));
  AuditRound round(flags.cap, flags.max_usd, &questions, store);
  std::vector<std::thread> threads;
  for (const Auditor& auditor : auditors) {
    std::set<std::string> known;
    for (const EvaluationReview& review : reviews) {
      if (!flags.without_model.again && review.auditor == auditor.settings.name) known.insert(review.evaluation_id);
    }
    threads.emplace_back([&round, &auditor, known] { round.Ask(auditor, known); });
  }
  for (std::thread& thread : threads) thread.join();
  *ended_by = round.ended_by();
  return round.status();
}

// Exit status 0 if all passed: the models' audits, or with --mechanical those without a model.
Result<int> TellAudits(const ModelAuditFlags& flags, const std::vector<Audited>& audited, const Store& store) {
  KB_ASSIGN_OR_RETURN(const std::vector<EvaluationReview> reviews, store.Reviews(flags.run));
  bool all_passed = true;
  if (!flags.json && !audited.empty()) {
    fmt::print("{:<10} {:<24} {:>6} {:>9}{}\n", "problem", "model", "sample", "speedup",
               flags.mechanical ? "" : fmt::format(" {:>9}", "audited"));
  }
  for (const Audited& one : audited) {
    const json line = AuditLine(flags, one, reviews);
    all_passed &= flags.mechanical ? one.mechanical.findings.empty()
                                   : line.at("audited_speedup").is_number() && line.at("audited_speedup") > 0.0;
    if (flags.json) {
      fmt::print("{}", JsonLine(line));
    } else {
      PrintAudit(flags, one, line);
    }
  }
  if (audited.empty() && !flags.json) fmt::print("no candidate of {} is faster than {}x\n", flags.run, flags.above);
  return all_passed ? kAllCorrect : kNotAllCorrect;
}

Result<int> AuditRun(const ModelAuditFlags& flags) {
  if (flags.mechanical != flags.auditors.empty()) {
    return Fail(ErrorCode::kUsage, flags.mechanical ? "--mechanical asks no models: leave out --auditors"
                                                    : "name models with --auditors A,B, or give --mechanical, which "
                                                      "needs none");
  }
  if (!std::filesystem::exists(flags.store)) {
    return Fail(ErrorCode::kUsage, fmt::format("the store {} does not exist yet", flags.store));
  }
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Store store, Store::Open(flags.store, {.create = false}));
  std::vector<Auditor> auditors;
  if (!flags.mechanical) {
    KB_ASSIGN_OR_RETURN(auditors,
                        OpenAuditors(flags.auditors, flags.models_file, flags.max_usd.has_value(), installation));
  }
  KB_ASSIGN_OR_RETURN(const std::filesystem::path directory, ProblemDirectory(flags.problems));
  ProblemFinder finder(directory);
  std::vector<std::string> notes;
  KB_ASSIGN_OR_RETURN(std::vector<Audited> audited, FastCandidates(flags.run, flags.above, store, &finder, &notes));
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
  KB_RETURN_IF_ERROR(AuditMechanically(flags.without_model, installation, &finder, &store, &audited));
  std::string ended_by;
  const Status asked =
      flags.mechanical ? Status() : AskModels(flags, auditors, audited, installation, &store, &ended_by);
  KB_ASSIGN_OR_RETURN(const int told, TellAudits(flags, audited, store));
  if (!ended_by.empty()) fmt::print(stderr, "ended by {}; a higher cap goes on\n", ended_by);
  KB_RETURN_IF_ERROR(asked);
  if (Interrupted()) return Fail(ErrorCode::kInterrupted, "");
  return told;
}

}  // namespace

void AddModelAudit(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ModelAuditFlags>();
  CLI::App* command = app->add_subcommand("audit",
                                          "audit the fast candidates of a run, without a model and then by models; the "
                                          "same command again asks what is still "
                                          "open");
  command->add_option("run", flags->run, "whose candidates")->required();
  command
      ->add_option("--auditors", flags->auditors,
                   "models, such as openai:NAME,anthropic:NAME (docs/reference/models.md)")
      ->delimiter(',');
  command->add_flag("--mechanical", flags->mechanical, "only what needs no model (docs/reference/audits.md)");
  command->add_flag("--held-out", flags->without_model.held_out,
                    "judge at another size what was judged at one alone; it is kept as part of the audit");
  command
      ->add_option("--isolation", flags->without_model.isolation,
                   "with --held-out: namespaces, or process where the machine refuses those")
      ->check(CLI::IsMember({"namespaces", "process"}))
      ->capture_default_str();
  command->add_option("--above", flags->above, "audit what is faster than this")->capture_default_str();
  command->add_option("--cap", flags->cap, "larger speedups count as this; 0: no cap")->check(CLI::Range(0.0, 1e9));
  command->add_option("--max-usd", flags->max_usd, "end it at this cost in US dollars")->check(AboveZero());
  command->add_flag("--again", flags->without_model.again, "ask again what was answered; with --held-out judge again");
  command->add_option("--models-file", flags->models_file, "models.toml (docs/reference/models.md)");
  AddProblemsFlag(command, &flags->problems);
  command->add_option("--store", flags->store, "where everything is kept")->capture_default_str();
  command->add_flag("--json", flags->json, "one line of JSON for each candidate (docs/guide/generate.md)");
  command->add_flag("--quiet", flags->without_model.quiet, "no progress");
  command->callback([flags, exit_code] {
    const Result<int> ended = AuditRun(*flags);
    *exit_code = ended ? *ended : PrintError(ended.error());
  });
}

}  // namespace kb::cli
