// NVIDIA's libraries that a .cu candidate may call: cuBLAS, cuDNN, and CUTLASS, which is headers alone.
#ifndef JUDGE_DEVICES_CUDA_CUDA_LIBRARIES_H_
#define JUDGE_DEVICES_CUDA_CUDA_LIBRARIES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/ops.h"

namespace kb {

using CudaLibrary = ops::BuildFacts::Library;
using CudaLibraries = std::map<std::string, CudaLibrary>;  // "cublas", "cudnn", "cutlass"

// Folders of their files, each once: a runner must see them.
std::vector<std::string> FoldersOf(const CudaLibraries& libraries);
// Those whose headers the text includes, each once, in the order of their names.
std::vector<std::string> LibrariesIncludedBy(std::string_view source);
// Changes with the library: paths, sizes and times of its headers and files, a line each. One that cannot be read is
// left out.
std::string StateOf(const std::string& name, const CudaLibrary& library);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_CUDA_LIBRARIES_H_
