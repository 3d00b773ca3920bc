// What can be done about a candidate's time on a GPU: its kernels, how they use the device, and what that suggests.
// Pure functions over an evaluation; what is told of kernels is the runner's own word.
#ifndef JUDGE_DEVICES_CUDA_KERNEL_PROFILE_H_
#define JUDGE_DEVICES_CUDA_KERNEL_PROFILE_H_

#include <nlohmann/json.hpp>

namespace kb {

// `evaluation`: as docs/reference/evaluation.md has it, with `authorship` of a traced call. `figures`: of the problem
// at its size (MeasuredFigures()); empty: none are known. The object that docs/reference/gpu.md describes, without
// counters; null if no kernel was traced.
nlohmann::json KernelProfile(const nlohmann::json& evaluation, const nlohmann::json& figures);

// Adds what the GPU's counters told of a profile's kernels: what Evaluator::ReadCounters() returns. `device_info` is
// the evaluation's.
void AddCounters(const nlohmann::json& counters, const nlohmann::json& device_info, nlohmann::json* profile);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_KERNEL_PROFILE_H_
