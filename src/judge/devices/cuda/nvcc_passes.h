// nvcc compiles a source twice, for the host and for the device, one after the other. Neither needs the other until the
// end, and with PyTorch's headers both take long.
#ifndef JUDGE_DEVICES_CUDA_NVCC_PASSES_H_
#define JUDGE_DEVICES_CUDA_NVCC_PASSES_H_

#include <optional>
#include <string>

namespace kb {

// A shell script that does what `nvcc --dryrun --keep` printed for one source and one architecture, both passes at the
// same time. `unit`: a name of letters, digits and _ that no other source has; nvcc would choose one in the host pass,
// for the device pass to read. Nothing, if that is not what was printed: then nvcc has to do it itself.
std::optional<std::string> OverlappedPasses(const std::string& dryrun, const std::string& unit);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_NVCC_PASSES_H_
