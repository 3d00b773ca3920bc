// Tries, from inside, what a candidate must not be able to do. `kernelbench doctor` and the tests run these in the same
// process, sandbox and confinement as a candidate.
#ifndef RUNNER_PROBES_H_
#define RUNNER_PROBES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kb::runner {

struct ProbeResult {
  std::string barrier;    // the first that should hold it; a name of base/barriers.h
  std::string forbidden;  // what was tried
  bool holds = false;     // it failed
  std::string detail;     // the error, or what was possible
};

// `outside`: what the engine has put up to be reached: "pid" (its own), "secret_file" (a path), "tcp_port" and
// "abstract_socket" (it listens there), "shm_id" (System V), "variable" (in its environment), "hostname"; and the
// limits in force: "memory_bytes", "file_bytes", "tmp_bytes", "threads" (0: none).
std::vector<ProbeResult> RunProbes(const nlohmann::json& outside);

// Runs them and prints one line of JSON each on stdout.
void PrintProbes(const nlohmann::json& outside);

}  // namespace kb::runner

#endif  // RUNNER_PROBES_H_
