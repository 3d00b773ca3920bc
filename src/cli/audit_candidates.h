// The fast candidates of a run, as `audit` has them audited.
#ifndef CLI_AUDIT_CANDIDATES_H_
#define CLI_AUDIT_CANDIDATES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audit/mechanical_audit.h"
#include "base/file.h"
#include "judge/problem/problem_finder.h"
#include "store/store.h"

namespace kb::cli {

// What audits without a model found.
struct Mechanical {
  std::vector<AuditFinding> findings;
  std::vector<HeldOut> held_out;
  std::vector<std::string> sizes;  // of the problem

  // {"findings", "held_out"}; as it is stored.
  nlohmann::json ToJson() const;
};

struct Audited {
  ScoreRow row;
  ProblemFile problem;
  std::string problem_source;
  std::string digest;  // of its transcript; empty: it has none
  std::vector<TranscriptMark> marks;
  Mechanical mechanical;
};

// Those that are correct and faster than `above`. One whose problem has changed since is left out, which a note tells.
// kUsage if the run has no evaluation.
Result<std::vector<Audited>> FastCandidates(const std::string& run, double above, const Store& store,
                                            ProblemFinder* finder, std::vector<std::string>* notes);

struct MechanicalFlags {
  bool held_out = false, again = false, quiet = false;
  std::string isolation = "namespaces";
};

// Fills Audited::mechanical of all, and stores it as reviews. `held_out`: those that were judged at one size alone are
// judged at another, on a device of the kind that they were judged on.
Status AuditMechanically(const MechanicalFlags& flags, const Installation& installation, ProblemFinder* finder,
                         Store* store, std::vector<Audited>* audited);

}  // namespace kb::cli

#endif  // CLI_AUDIT_CANDIDATES_H_
