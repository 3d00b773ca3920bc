// What holds on this machine, what is missing, and what would spoil timing.
#ifndef JUDGE_DOCTOR_DOCTOR_H_
#define JUDGE_DOCTOR_DOCTOR_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/barriers.h"
#include "base/file.h"
#include "judge/backends.h"
#include "judge/sandbox/sandbox.h"

namespace kb {

struct Check {
  std::string group;   // "tools", "isolation", "timing", "resources"
  std::string name;    // what was looked at
  std::string state;   // "ok", "warning": results are less certain, "missing": evaluations cannot run
  std::string detail;  // what was found
  std::string remedy;  // what to do; empty if ok
};

// One thing that a candidate must not be able to do, tried from inside (runner/probes.h).
struct Probe {
  std::string runner;  // "native", "module"
  std::string barrier, forbidden, detail;
  bool holds = false;
};

struct Diagnosis {
  std::string isolation;  // the strongest that this machine grants: "namespaces", "process"
  std::vector<std::string> barriers;
  std::vector<Check> checks;
  std::vector<Probe> probes;
  std::vector<BackendHere> backends;

  // No check is "missing", every probe was stopped.
  bool Healthy() const;
  nlohmann::json ToJson() const;
};

// Takes a few seconds: it builds nothing but starts a sandbox, both kinds of runner and PyTorch. `state_directory` is
// where results are kept. Errors: kInterrupted; what cannot be found out is a check.
Result<Diagnosis> Diagnose(const Installation& installation, Isolation wanted, const Without& without,
                           const std::filesystem::path& state_directory);

// Checks of the machine alone, without starting anything (host_checks.cc).
std::vector<Check> TimingChecks();
std::vector<Check> ResourceChecks(const std::filesystem::path& state_directory);

}  // namespace kb

#endif  // JUDGE_DOCTOR_DOCTOR_H_
