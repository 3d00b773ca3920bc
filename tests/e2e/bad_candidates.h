// Candidates that get another verdict than "correct", with PyTorch or a fake device process.
#ifndef TESTS_E2E_BAD_CANDIDATES_H_
#define TESTS_E2E_BAD_CANDIDATES_H_

#include <string>
#include <vector>

#include "harness.h"

namespace kb::e2e {

struct BadCandidate {
  std::string candidate;
  std::vector<std::string> verdicts;  // one of these
  std::string said;                   // part of the reason or of the evidence
};

// A native candidate that does `first` at the start of each call.
std::string Native(const std::string& globals, const std::string& first);

// Each has one of its verdicts, and is told as docs/reference/evaluation.md says.
void ExpectVerdicts(const Ended& ended, const std::vector<BadCandidate>& candidates);

}  // namespace kb::e2e

#endif  // TESTS_E2E_BAD_CANDIDATES_H_
