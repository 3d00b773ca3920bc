// NVIDIA's GPUs, before one is opened. How CUDA's driver is spoken to is src/cuda's.
#include <fmt/format.h>

#include "judge/devices/cuda/cuda_builder.h"
#include "judge/devices/cuda/gpu_memory.h"
#include "judge/devices/cuda/gpus.h"
#include "judge/devices/cuda/nvcc.h"
#include "judge/devices/kinds.h"

namespace kb {
namespace {

// What the driver opens beside the file of the GPU itself; a machine has some of them. It also names its threads
// (/proc/self/task/*/comm), and does not start where it may not. What else lies below /proc belongs to others, or to
// the machine. Without one PID namespace it maps no memory of another process.
DeviceAccess AccessTo(const std::string& file) {
  return {.files = {file, "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
          .writable = {"/proc/self/task"},
          .excludes = {"pid-namespace"}};
}

Result<FoundDevice> FindCuda(int number) {
  const GpuSources sources = ThisMachine();
  KB_ASSIGN_OR_RETURN(const Gpu gpu, FindGpu(number, sources));
  return FoundDevice{.kind = &Cuda(),
                     .environment = CudaEnvironment(gpu.name),
                     .access = AccessTo(gpu.file),
                     .absent = WhyAbsent(gpu, sources),
                     .number = number,
                     .near = gpu.near};
}

Result<MemoryGauge> MemoryOf(int number) {
  KB_ASSIGN_OR_RETURN(const Gpu gpu, FindGpu(number, ThisMachine()));
  return GpuMemory(gpu.name);
}

Result<BuildResult> BuildNativeCuda(const Builder& builder, const Candidate& candidate, const ops::DeviceFacts& facts,
                                    const CompileLimits& limits) {
  return BuildCuda(builder, candidate, {facts.compute_capability, facts.build.nvrtc, facts.build.libraries}, limits);
}

}  // namespace

// A runner takes several times longer to start than an evaluation leaves it between what is timed.
const DeviceKind& Cuda() {
  static const DeviceKind kCuda{.name = "cuda",
                                .writes = "a CUDA candidate",
                                .extensions = {".cu"},
                                .runners_ahead = 4,
                                .calibration = {},
                                .find = FindCuda,
                                .names = [] { return GpuModels(ThisMachine()); },
                                .memory = MemoryOf,
                                .build = BuildNativeCuda,
                                .extension_part = CudaExtensionPart};
  return kCuda;
}

}  // namespace kb
