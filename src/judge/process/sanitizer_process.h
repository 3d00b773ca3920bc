// A candidate under NVIDIA's compute-sanitizer, in a sandbox like a runner's: a process that calls it once on made-up
// inputs of the problem's form, with no memory of ours in it.
#ifndef JUDGE_PROCESS_SANITIZER_PROCESS_H_
#define JUDGE_PROCESS_SANITIZER_PROCESS_H_

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "judge/process/device_process.h"
#include "judge/sandbox/sandbox.h"

namespace kb {

// memcheck, racecheck, initcheck, synccheck.
const std::vector<std::string>& SanitizerTools();

// KERNELBENCH_SANITIZER, else compute-sanitizer of CUDA_HOME, of PATH, or of /usr/local/cuda.
Result<std::filesystem::path> FindSanitizer();

struct SanitizedRun {
  std::filesystem::path sanitizer;
  std::string tool;
  nlohmann::json spec;                            // what a runner is told
  std::filesystem::path kernel;                   // native; empty: a module, run by `python`
  std::vector<std::filesystem::path> extensions;  // in the order of spec["extensions"]
  std::filesystem::path first_call;               // what a module's first call compiled; empty: nothing
  int threads = 1;
};

// Runs it to its end and returns all that was printed. Needs namespaces: what is confined here is confined late.
Result<Completed> RunSanitized(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                               SanitizedRun run, std::chrono::milliseconds timeout);

}  // namespace kb

#endif  // JUDGE_PROCESS_SANITIZER_PROCESS_H_
