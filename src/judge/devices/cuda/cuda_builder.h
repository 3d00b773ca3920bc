// From a .cu candidate to what a runner can load.
#ifndef JUDGE_DEVICES_CUDA_CUDA_BUILDER_H_
#define JUDGE_DEVICES_CUDA_CUDA_BUILDER_H_

#include <filesystem>
#include <optional>
#include <string>

#include "judge/compile/builder.h"
#include "judge/devices/cuda/cuda_libraries.h"

namespace kb {

// Of the GPU that it is built for.
struct GpuBuildFacts {
  std::string capability;        // as "9.0"
  std::filesystem::path nvrtc;   // PyTorch's, for want of one in the toolkit; may be empty
  CudaLibraries libraries = {};  // that candidates may be linked with
  bool with_nvcc_alone = false;  // for tests: also what could be built with NVRTC
};

// With NVRTC where that is certain to mean the same (cuda_split.h), and with nvcc otherwise; what does not compile is
// always refused in nvcc's words.
Result<BuildResult> BuildCuda(const Builder& builder, const Candidate& candidate, const GpuBuildFacts& gpu,
                              const CompileLimits& limits);
// No result: nvcc has to do it.
Result<std::optional<BuildResult>> BuildWithNvrtc(const Builder& builder, const Candidate& candidate,
                                                  const CompilerIdentity& nvcc, const GpuBuildFacts& gpu,
                                                  const CompileLimits& limits);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_CUDA_BUILDER_H_
