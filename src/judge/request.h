// What is asked of an evaluator.
#ifndef JUDGE_REQUEST_H_
#define JUDGE_REQUEST_H_

#include <string>

#include "judge/candidate/candidate.h"
#include "judge/problem/problem_catalog.h"
#include "judge/protocol/protocol.h"

namespace kb {

struct Request {
  ProblemFile problem;
  std::string size = "standard";
  Candidate candidate;
  Protocol protocol;

  bool module() const { return candidate.kind == CandidateKind::kModule; }
};

// What a runner must be before it is told what to run.
struct RunnerNeeds {
  CandidateKind kind = CandidateKind::kNative;
  double memory_gb = 0;
  bool operator==(const RunnerNeeds&) const = default;
};
RunnerNeeds NeedsOf(const Request& request);
// Of the reference's process, which may have the machine's memory.
RunnerNeeds ReferenceNeeds();
// Two requests of the same text may be timed against one process of the reference, one after the other; empty: nothing
// is timed.
std::string ReferenceOf(const Request& request);

}  // namespace kb

#endif  // JUDGE_REQUEST_H_
