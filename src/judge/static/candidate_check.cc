#include "judge/static/candidate_check.h"

namespace kb {

std::vector<StaticFinding> StaticCheckCandidate(const Candidate& candidate, const Protocol& protocol) {
  const SourceKind kind = candidate.kind == CandidateKind::kModule ? SourceKind::kPython
                          : candidate.path.extension() == ".cu"    ? SourceKind::kCuda
                                                                   : SourceKind::kCpp;
  const std::string& backend = protocol.backend.empty() ? candidate.backend : protocol.backend;
  return StaticCheck(candidate.source, kind, {backend, protocol.precision, protocol.static_rules});
}

}  // namespace kb
