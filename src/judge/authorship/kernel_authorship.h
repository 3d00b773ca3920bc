// Who did the work of a call on a GPU, told by the names of the kernels that ran in it. Pure functions over what a
// runner says, which is advisory: names are text, and whoever wants to can choose them.
#ifndef JUDGE_AUTHORSHIP_KERNEL_AUTHORSHIP_H_
#define JUDGE_AUTHORSHIP_KERNEL_AUTHORSHIP_H_

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

enum class KernelOrigin {
  kCustom,   // in the candidate's text, or unknown to be anybody's
  kLibrary,  // PyTorch's own, cuBLAS, cuDNN, cuFFT, CUB and thrust across the device, torch.compile's
  kOther,    // kernels that there was no room to name
};
const char* KernelOriginName(KernelOrigin origin);

// "mine::relu" of "mine::(anonymous namespace)::relu<float, 4>".
std::string QualifiedName(std::string_view kernel);

// `own`: the candidate's kernels (static/kernel_names.h), which count as custom whatever they look like.
KernelOrigin OriginOfKernel(const std::string& kernel, const std::set<std::string>& own);

// The types below fp32 that a kernel's name tells, of "tf32", "bf16", "f16", "f8" and "i8", in this order: as cuBLAS,
// cuDNN and CUTLASS name what a kernel multiplies ("s1688gemm", "_tf32f32_", "h16816"), and as C++ names types.
std::vector<std::string> ArithmeticOfKernel(std::string_view kernel);

// `kernels`: rows of {"name", "calls", "us", ...} as a traced call reports them. The object that
// docs/reference/evaluation.md describes; `class` is null, and `why` a reason, if nothing ran.
nlohmann::json KernelAuthorship(const nlohmann::json& kernels, double span_us, const std::set<std::string>& own);

}  // namespace kb

#endif  // JUDGE_AUTHORSHIP_KERNEL_AUTHORSHIP_H_
