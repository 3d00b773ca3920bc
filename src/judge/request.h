// What is asked of an evaluator.
#ifndef JUDGE_REQUEST_H_
#define JUDGE_REQUEST_H_

#include <functional>
#include <string>

#include "judge/candidate/candidate.h"
#include "judge/problem/problem_catalog.h"
#include "judge/protocol/protocol.h"

namespace kb {

// Told after each round of a trial: how many have been right, and whether the last one was wrong, or ended the trial
// in another way.
using RoundWatch = std::function<void(int right, bool ended)>;

struct Request {
  ProblemFile problem;
  std::string size = "standard";
  Candidate candidate;
  Protocol protocol;
  RoundWatch watch = {};  // called on the device's thread; may be empty

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
