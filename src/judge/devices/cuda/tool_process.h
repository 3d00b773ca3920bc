// A candidate under one of NVIDIA's tools, in a sandbox like a runner's: a process that calls it on made-up inputs of
// the problem's form, with no memory of ours in it.
#ifndef JUDGE_DEVICES_CUDA_TOOL_PROCESS_H_
#define JUDGE_DEVICES_CUDA_TOOL_PROCESS_H_

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "judge/compile/build_cache.h"
#include "judge/process/device_process.h"
#include "judge/sandbox/sandbox.h"
#include "wire/runner_spec.h"

namespace kb {

// KERNELBENCH_SANITIZER, else compute-sanitizer of CUDA_HOME, of PATH, or of /usr/local/cuda.
Result<std::filesystem::path> FindSanitizer();
// KERNELBENCH_NCU, else ncu (Nsight Compute) of the same places.
Result<std::filesystem::path> FindProfiler();

struct ToolRun {
  std::filesystem::path tool;
  std::vector<std::string> options;  // the tool's
  RunnerSpec spec;                   // what a runner is told
  Confinement confinement;
  std::vector<std::string> folders;               // of libraries that a native candidate is linked with
  std::filesystem::path kernel;                   // native; empty: a module, run by `python`
  std::vector<std::filesystem::path> extensions;  // in the order of spec.extensions
  std::filesystem::path first_call;               // what a module's first call compiled; empty: nothing
  std::vector<CacheHold> holds;                   // of these files
  // Whether a second call follows, around which the driver is told to start and stop profiling. The first one then
  // loads what is loaded once, and a module's tensors come from PyTorch's cache; otherwise each is an allocation of its
  // own.
  bool profiled = false;
};

// Runs it to its end and returns all that was printed. Needs namespaces: what is confined here is confined late.
Result<Completed> RunUnderTool(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                               ToolRun run, std::chrono::milliseconds timeout);

// Names of kernels as people write them, a name each: "relu<float>" of "_Z4reluIfEvPT_". Found out in the sandbox, for
// a name of 300 bytes can keep a demangler busy for ever; as they came where that ended so.
Result<std::vector<std::string>> ReadableNames(const Installation& installation, const Sandbox& sandbox,
                                               std::vector<std::string> mangled);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_TOOL_PROCESS_H_
