// Static analysis of a candidate under a protocol.
#ifndef JUDGE_STATIC_CANDIDATE_CHECK_H_
#define JUDGE_STATIC_CANDIDATE_CHECK_H_

#include <vector>

#include "judge/candidate/candidate.h"
#include "judge/protocol/protocol.h"
#include "judge/static/static_check.h"

namespace kb {

// The files of a candidate that hold source text.
std::vector<StaticSource> StaticSourcesOf(const Candidate& candidate);
std::vector<StaticFinding> StaticCheckCandidate(const Candidate& candidate, const Protocol& protocol);

}  // namespace kb

#endif  // JUDGE_STATIC_CANDIDATE_CHECK_H_
