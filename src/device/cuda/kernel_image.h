// Machine code of the device library's kernels, made on the machine that has the GPU.
#ifndef DEVICE_CUDA_KERNEL_IMAGE_H_
#define DEVICE_CUDA_KERNEL_IMAGE_H_

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kb::cuda {

// `source`, as NVRTC (`nvrtc`: its path, or empty: found under its usual names) compiles it for a compute capability.
// Kept in `directory`, for it takes seconds: a file for each source, capability and compiler, with its own checksum.
// One that does not match that is made anew; where nothing can be kept, or `directory` is empty, nothing is.
Result<std::string> KernelImage(const std::string& source, int major, int minor, const std::string& nvrtc,
                                const std::filesystem::path& directory);

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_KERNEL_IMAGE_H_
