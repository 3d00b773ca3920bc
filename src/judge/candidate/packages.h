// Python packages that a candidate cannot do without, told by its text. Nothing is executed.
#ifndef JUDGE_CANDIDATE_PACKAGES_H_
#define JUDGE_CANDIDATE_PACKAGES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/candidate/candidate.h"

namespace kb {

struct Package {
  const char* backend;
  const char* module;  // as it is imported
  const char* name;    // as pip installs it
};

// Of all backends that need one.
std::span<const Package> Packages();

// Those whose modules the candidate imports whenever it is loaded: by a statement at the top level of its file, under
// no `try` and no `if`, or of a file of its folder that such a statement imports. In the order of Packages().
std::vector<Package> PackagesNeededBy(const Candidate& candidate);

}  // namespace kb

#endif  // JUDGE_CANDIDATE_PACKAGES_H_
