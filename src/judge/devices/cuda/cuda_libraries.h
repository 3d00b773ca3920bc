// Libraries that CUDA code of candidates may use: cuBLAS, cuDNN, and those that are headers alone, CUTLASS and
// ThunderKittens.
#ifndef JUDGE_DEVICES_CUDA_CUDA_LIBRARIES_H_
#define JUDGE_DEVICES_CUDA_CUDA_LIBRARIES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/ops.h"

namespace kb {

using CudaLibrary = ops::BuildFacts::Library;
using CudaLibraries = std::map<std::string, CudaLibrary>;  // "cublas", "cudnn", "cutlass", "thunderkittens"

// One that is headers alone. find_libraries() in device_facts.py looks for the same.
struct HeaderLibrary {
  std::string name, title;
  std::string header;                  // below include/ of its folder
  std::vector<std::string> variables;  // each may name that folder
};
const std::vector<HeaderLibrary>& HeaderLibraries();
// Its include folder as a variable says; empty: none does.
std::string FindHeaders(const HeaderLibrary& library);
// How to have it, as a clause: "set KERNELBENCH_CUTLASS to ...".
std::string HowToHave(const HeaderLibrary& library);

// Before a text is compiled: kUnavailable names a library that it includes and this machine lacks. Nothing is said of a
// text that asks which headers there are.
Status CheckLibraries(std::string_view source, const CudaLibraries& libraries);
// Of an extension, where PyTorch sees to the others.
Status CheckHeaderLibraries(std::string_view source, const CudaLibraries& libraries);

// Folders of their files, each once: a runner must see them.
std::vector<std::string> FoldersOf(const CudaLibraries& libraries);
// Those whose headers the text includes, each once, in the order of their names.
std::vector<std::string> LibrariesIncludedBy(std::string_view source);
// Changes with the library: paths, sizes and times of its headers and files, a line each. One that cannot be read is
// left out.
std::string StateOf(const std::string& name, const CudaLibrary& library);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_CUDA_LIBRARIES_H_
