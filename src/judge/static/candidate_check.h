// Static analysis of a candidate under a protocol.
#ifndef JUDGE_STATIC_CANDIDATE_CHECK_H_
#define JUDGE_STATIC_CANDIDATE_CHECK_H_

#include <vector>

#include "judge/candidate/candidate.h"
#include "judge/protocol/protocol.h"
#include "judge/static/static_check.h"

namespace kb {

// The files of a candidate that hold source text: of a folder Python, and whatever a compiler may read, which is all
// but texts that are known as data and that no line includes. model_new.py is first, then the small ones.
std::vector<StaticSource> StaticSourcesOf(const Candidate& candidate);
std::vector<StaticFinding> StaticCheckCandidate(const Candidate& candidate, const Protocol& protocol);

}  // namespace kb

#endif  // JUDGE_STATIC_CANDIDATE_CHECK_H_
