// NVIDIA's compilers: where they are, and how nvcc is called.
#ifndef JUDGE_DEVICES_CUDA_NVCC_H_
#define JUDGE_DEVICES_CUDA_NVCC_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "judge/compile/builder.h"

namespace kb {

// nvcc of $CUDA_HOME, of PATH, or of /usr/local/cuda; an error says that there is none.
Result<CompilerIdentity> FindCudaCompiler();
// The NVRTC of nvcc's own release, which reads its headers: of its toolkit, or `offered` (the path of a library, or
// empty), the one that PyTorch brings. Its path.
std::optional<std::filesystem::path> FindNvrtc(const CompilerIdentity& nvcc, const std::filesystem::path& offered);

// "arch=compute_90a,code=sm_90a" for "9.0": with the instructions that only this architecture has.
std::string GencodeOf(const std::string& capability);
// DevicePart::script: nvcc's host pass and its device pass at the same time, where that is possible.
Result<std::string> NvccScript(const Sandbox& sandbox, const std::string& name, const std::string& source,
                               const std::vector<std::string>& command,
                               const std::vector<std::filesystem::path>& read_only, const CompileLimits& limits);
// Of an extension, as PyTorch compiles it. `host`: the compiler of its other part.
Result<DevicePart> CudaExtensionPart(const nlohmann::json& wanted, const TorchBuildFacts& torch,
                                     const std::string& host);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_NVCC_H_
