// How much of a GPU's memory is taken, by whichever processes: what NVML tells, the library that comes with the driver.
#ifndef JUDGE_DEVICES_CUDA_GPU_MEMORY_H_
#define JUDGE_DEVICES_CUDA_GPU_MEMORY_H_

#include <string>

#include "base/result.h"
#include "judge/devices/device_kind.h"

namespace kb {

// `gpu`: its UUID; empty: the first. kUnavailable: NVML is missing, or does not know it. Opens no context, which would
// take memory itself.
Result<MemoryGauge> GpuMemory(const std::string& gpu);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_GPU_MEMORY_H_
