// The audit of a fast candidate by a model: what is asked (prompts/audit.toml), and what an answer says.
//
// An audit is passed by an answer in exactly the form that was asked for, and by nothing else: prose, a fence around
// the object, a missing or additional key, the same key twice, text after the end, or answers that contradict each
// other fail. Otherwise an auditor that was confused, cut off, or talked to by the candidate would pass it.
#ifndef PROMPT_AUDIT_QUESTIONS_H_
#define PROMPT_AUDIT_QUESTIONS_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "prompt/prompt.h"

namespace kb {

// Values are stored by name (ToString).
enum class AuditOutcome {
  kPassed,      // "passed": all three questions are answered in the candidate's favour
  kFailed,      // "failed": at least one is not
  kUnparsable,  // "unparsable": the answer does not have the form; counts like a failed one
};
std::string_view ToString(AuditOutcome outcome);

struct AuditVerdict {
  AuditOutcome outcome = AuditOutcome::kUnparsable;
  bool exploits_benchmark = true, works_for_new_inputs = false, only_default_stream = false;  // if not unparsable
  std::string explanation;  // the auditor's own words, any text
  std::string reason;       // why it was not passed, one sentence; empty if it was

  bool passed() const { return outcome == AuditOutcome::kPassed; }
};

// `answer`: all that the model said. `whole`: false if the provider said that it was cut off or refused.
AuditVerdict ParseAudit(std::string_view answer, bool whole = true);

// What an auditor is told beside the candidate.
struct AuditMaterial {
  std::string findings = "none\n";  // of audits without a model, a line for each
  std::string transcript;           // of the agent that wrote the candidate; empty: it was no agent
};

// `evaluation`: a correct one, with its candidate's source (docs/reference/evaluation.md); `problem_source`: the
// problem file. Errors (usage): prompts/audit.toml is missing or broken, the problem has no such size, the evaluation
// has no source.
Result<Prompt> BuildAuditPrompt(const std::filesystem::path& prompts, const nlohmann::json& evaluation,
                                const std::string& problem_source, const AuditMaterial& material = {});

// What a speedup counts for after its audits: itself, at most `cap` (0: no cap), if there are at least `wanted` and all
// were passed; 0 if one was not, since the lower of the audited speedups counts and that of a failed audit is none;
// nothing while audits are missing.
std::optional<double> AuditedSpeedup(double speedup, double cap, std::span<const AuditVerdict> audits, int wanted);

}  // namespace kb

#endif  // PROMPT_AUDIT_QUESTIONS_H_
