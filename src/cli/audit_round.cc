#include "cli/audit_round.h"

#include <fmt/format.h>

#include <span>
#include <thread>

#include "audit/mechanical_audit.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "prompt/audit_questions.h"

namespace kb::cli {
namespace {

using nlohmann::json;

json VerdictJson(const AuditVerdict& verdict) {
  return {{"outcome", ToString(verdict.outcome)},
          {"exploits_benchmark", verdict.exploits_benchmark},
          {"works_for_new_inputs", verdict.works_for_new_inputs},
          {"only_default_stream", verdict.only_default_stream},
          {"explanation", verdict.explanation},
          {"reason", verdict.reason}};
}

CompletionRequest RequestFor(const Auditor& auditor, const AuditQuestion& question) {
  CompletionRequest request = auditor.settings.NewRequest();
  request.system = question.prompt.system;
  request.messages = {{Role::kUser, question.prompt.user, false}};
  request.problem = question.replay_as;
  request.sample = question.sample;
  return request;
}

}  // namespace

Result<std::vector<Auditor>> OpenAuditors(const std::vector<std::string>& names, const std::string& models_file,
                                          bool capped, const Installation& installation) {
  KB_ASSIGN_OR_RETURN(const ModelsFile file, ModelsFile::Find(models_file));
  KB_ASSIGN_OR_RETURN(const PriceTables prices, PriceTables::Load(installation.models));
  std::vector<Auditor> auditors;
  std::set<std::string> seen;
  for (const std::string& spec : names) {
    Auditor auditor;
    KB_ASSIGN_OR_RETURN(auditor.settings, FindModel(spec, file));
    if (!seen.insert(auditor.settings.name).second) {
      return Fail(ErrorCode::kUsage, fmt::format("--auditors names {} twice: audits are to be independent", spec));
    }
    if (auditor.settings.name == kMechanicalAuditor) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("an auditor cannot be called {}: findings of audits without a model are "
                              "stored under that name; call it another name in models.toml",
                              kMechanicalAuditor));
    }
    std::string note;
    auditor.price = FindPrice(
        auditor.settings, prices, [] { return Interrupted(); }, &note);
    if (capped && !auditor.price) {
      return Fail(ErrorCode::kUsage, fmt::format("--max-usd needs the price of {}, which is not known: give it in "
                                                 "models.toml{}",
                                                 spec, note.empty() ? "" : " (" + note + ")"));
    }
    KB_ASSIGN_OR_RETURN(auditor.provider, OpenModel(auditor.settings));
    auditors.push_back(std::move(auditor));
  }
  return auditors;
}

AuditRound::AuditRound(double cap, std::optional<double> max_usd, const std::vector<AuditQuestion>* questions,
                       Store* store)
    : cap_(cap), questions_(*questions), store_(store), budget_({.usd = max_usd}, {}, 0, NowNs()) {}

void AuditRound::Ask(const Auditor& auditor, const std::set<std::string>& known) {
  for (const AuditQuestion& question : questions_) {
    if (known.contains(question.evaluation_id) || Interrupted() || !Fine()) continue;
    if (const Status asked = AskOne(auditor, question); !asked) {
      const std::lock_guard lock(mutex_);
      if (status_) status_ = asked;
    }
  }
}
bool AuditRound::Fine() {
  const std::lock_guard lock(mutex_);
  return status_.has_value();
}

bool AuditRound::Reserve(const CallCost& most) {
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

Status AuditRound::AskOne(const Auditor& auditor, const AuditQuestion& question) {
  const CompletionRequest request = RequestFor(auditor, question);
  CallCost most;
  if (auditor.price) {
    const double input = static_cast<double>(question.prompt.system.size() + question.prompt.user.size()) / 2;
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
  review.evaluation_id = question.evaluation_id;
  review.auditor = auditor.settings.name;
  review.passes = verdict.passed();
  review.speedup = AuditedSpeedup(question.speedup, cap_, std::span(&verdict, 1), 1);
  review.findings = JsonLine(VerdictJson(verdict));
  const Usage& usage = completion->usage;
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  review.exchange = JsonLine(json{{"system", request.system},
                                  {"user", question.prompt.user},
                                  {"response", completion->text},
                                  {"reasoning", completion->reasoning},
                                  {"input", or_null(usage.input)},
                                  {"output", or_null(usage.output)},
                                  {"cost_usd", or_null(cost)},
                                  {"settings", auditor.settings.ToJson()}});
  return store_->AddReview(review);
}

}  // namespace kb::cli
