#include "device/cuda/launcher.h"

#include <cstdlib>

#include "base/file.h"
#include "device/cuda/kernel_directory.h"
#include "device/cuda/kernel_image.h"
#include "device/cuda/kernels.h"

namespace kb::cuda {

Result<Launcher> Launcher::Create(const Functions& driver, int major, int minor, int multiprocessors) {
  const char* nvrtc = std::getenv("KERNELBENCH_NVRTC");
  KB_ASSIGN_OR_RETURN(const std::string image, KernelImage(kKernelSource, major, minor, nvrtc != nullptr ? nvrtc : "",
                                                           KernelDirectory(CacheDirectory())));
  Launcher launcher(driver, multiprocessors);
  KB_RETURN_IF_ERROR(
      Check(driver, driver.cuModuleLoadData(&launcher.module_, image.data()), "loading the device's kernels"));
  return launcher;
}

}  // namespace kb::cuda
