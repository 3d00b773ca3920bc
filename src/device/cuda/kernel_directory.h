#ifndef DEVICE_CUDA_KERNEL_DIRECTORY_H_
#define DEVICE_CUDA_KERNEL_DIRECTORY_H_

#include <filesystem>
#include <string>
#include <system_error>

namespace kb::cuda {

// Where an engine keeps what KernelImage() makes, below its cache; empty if that lies where candidates may write under
// --isolation=process.
inline std::filesystem::path KernelDirectory(const std::filesystem::path& cache) {
  std::error_code ignored;
  const std::string where = std::filesystem::weakly_canonical(cache, ignored).string() + "/";
  for (const char* exposed : {"/tmp/", "/dev/shm/"}) {  // src/runner/landlock.cc
    if (where.starts_with(exposed)) return {};
  }
  return ignored ? std::filesystem::path() : cache / "device";
}

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_KERNEL_DIRECTORY_H_
