#include "judge/static/candidate_check.h"

namespace kb {

SourceKind SourceKindOf(const Candidate& candidate) {
  if (candidate.kind == CandidateKind::kModule) return SourceKind::kPython;
  return candidate.path.extension() == ".cu" ? SourceKind::kCuda : SourceKind::kCpp;
}

std::vector<StaticFinding> StaticCheckCandidate(const Candidate& candidate, const Protocol& protocol) {
  const std::string& backend = protocol.backend.empty() ? candidate.backend : protocol.backend;
  return StaticCheck(candidate.source, SourceKindOf(candidate), {backend, protocol.precision, protocol.static_rules});
}

}  // namespace kb
