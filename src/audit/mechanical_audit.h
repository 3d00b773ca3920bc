// Audits of a fast candidate that need no model. Each tells findings with evidence; docs/reference/audits.md lists
// them.
#ifndef AUDIT_MECHANICAL_AUDIT_H_
#define AUDIT_MECHANICAL_AUDIT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/similarity.h"
#include "audit/transcript_marks.h"

namespace kb {

struct AuditFinding {
  std::string audit;     // "streams", "authorship", "held_out", "similar", "denied", "outside", "network"
  std::string where;     // "line 12", "turn 4, call 1 (bash)"; empty: the candidate as a whole
  std::string says;      // a sentence
  std::string evidence;  // clean text in one line; may be empty

  nlohmann::json ToJson() const;
};

// A solution that was there before.
struct EarlierSolution {
  std::string whose;
  Shingles shingles;
};

// The candidate at a size that it was not made for.
struct HeldOut {
  std::string size, verdict, reason;
  std::optional<double> speedup;
  bool by_audit = false;  // judged for the audit, else for another run

  nlohmann::json ToJson() const;
  static std::optional<HeldOut> FromJson(const nlohmann::json& json);
};

// Of an evaluation (docs/reference/evaluation.md).
std::vector<AuditFinding> StreamFindings(const nlohmann::json& evaluation);
std::vector<AuditFinding> AuthorshipFindings(const nlohmann::json& evaluation);
std::vector<AuditFinding> HeldOutFindings(std::span<const HeldOut> held_out);
// The most alike of them, if it is alike. `base`: of what all solutions were given.
std::vector<AuditFinding> SimilarFindings(const Shingles& candidate, const Shingles& base,
                                          std::span<const EarlierSolution> earlier);
// Of each kind the first 20; intents are no finding.
std::vector<AuditFinding> TranscriptFindings(std::span<const TranscriptMark> marks);

// A line for each, for a model; "none" without any.
std::string FindingsText(std::span<const AuditFinding> findings);

// The size to judge at where only `seen` was judged: the odd one if there is one, for its edges lie elsewhere, else the
// first other; empty: there is none.
std::string OtherSize(const std::vector<std::string>& sizes, const std::string& seen);

}  // namespace kb

#endif  // AUDIT_MECHANICAL_AUDIT_H_
