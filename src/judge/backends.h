// What backends need of this machine beside PyTorch: Python packages, headers, a compiler, a GPU.
#ifndef JUDGE_BACKENDS_H_
#define JUDGE_BACKENDS_H_

#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "judge/candidate/packages.h"
#include "judge/process/device_process.h"

namespace kb {

// Errors are kUnavailable and say what is missing, which Python was asked and how to install it. `what` needs it: the
// beginning of the sentence.
Status CheckPackages(const std::string& what, const std::vector<Package>& packages, const PythonIdentity& python);
Status NoHip();

// Before candidates in a backend are asked for: whether its packages and headers are there. Which device there is, and
// whether the name is one, others say.
Status CheckBackend(const std::string& backend, const Installation& installation);

// A backend on this machine; of native candidates each language is one.
struct BackendHere {
  std::string name;                // "native-cpu", "native-cuda", "cpp", "cuda", ...
  std::string with;                // versions of what it is judged with
  std::vector<std::string> lacks;  // clauses; none: it can be judged here
};
std::vector<BackendHere> BackendsHere(const Result<PythonIdentity>& python);

}  // namespace kb

#endif  // JUDGE_BACKENDS_H_
