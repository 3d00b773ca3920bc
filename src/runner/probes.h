// Tries, from inside, what a candidate must not be able to do. `kernelbench doctor` and the tests run these in the same
// process, sandbox and confinement as a candidate.
#ifndef RUNNER_PROBES_H_
#define RUNNER_PROBES_H_

#include <string>
#include <vector>

#include "wire/runner_spec.h"

namespace kb::runner {

struct ProbeResult {
  std::string barrier;    // the first that should hold it; a name of base/barriers.h
  std::string forbidden;  // what was tried
  bool holds = false;     // it failed
  std::string detail;     // the error, or what was possible
};

std::vector<ProbeResult> RunProbes(const worker::Probe& probe);

// Runs them and prints one line of JSON each on stdout.
void PrintProbes(const worker::Probe& probe);

}  // namespace kb::runner

#endif  // RUNNER_PROBES_H_
