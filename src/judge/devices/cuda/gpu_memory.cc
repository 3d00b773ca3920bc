#include "judge/devices/cuda/gpu_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>

#include "cuda/library.h"

namespace kb {
namespace {

struct Nvml {
  struct Memory {
    unsigned long long total, free, used;  // bytes
  };
  int (*nvmlInit_v2)();
  int (*nvmlDeviceGetHandleByUUID)(const char* uuid, void** device);
  int (*nvmlDeviceGetHandleByIndex_v2)(unsigned index, void** device);
  int (*nvmlDeviceGetMemoryInfo)(void* device, Memory* memory);
};

Result<const Nvml*> Load() {
  static Nvml nvml;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Fail(ErrorCode::kUnavailable, "libnvidia-ml.so.1 cannot be loaded: install the whole NVIDIA driver");
  }
  const bool all = cuda::Find(library, "nvmlInit_v2", &nvml.nvmlInit_v2) &&
                   cuda::Find(library, "nvmlDeviceGetHandleByUUID", &nvml.nvmlDeviceGetHandleByUUID) &&
                   cuda::Find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml.nvmlDeviceGetHandleByIndex_v2) &&
                   cuda::Find(library, "nvmlDeviceGetMemoryInfo", &nvml.nvmlDeviceGetMemoryInfo);
  if (!all) return Fail(ErrorCode::kUnavailable, "libnvidia-ml.so.1 is too old: update the NVIDIA driver");
  if (const int code = nvml.nvmlInit_v2(); code != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("NVML does not start (error {}): does nvidia-smi work?", code));
  }
  return &nvml;
}

}  // namespace

Result<MemoryGauge> GpuMemory(const std::string& gpu) {
  static std::once_flag once;
  static Result<const Nvml*> loaded = nullptr;
  std::call_once(once, [] { loaded = Load(); });
  KB_ASSIGN_OR_RETURN(const Nvml* nvml, loaded);
  void* device = nullptr;
  const int found = gpu.empty() ? nvml->nvmlDeviceGetHandleByIndex_v2(0, &device)
                                : nvml->nvmlDeviceGetHandleByUUID(gpu.c_str(), &device);
  if (found != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("NVML does not know the GPU {} (error {})", gpu, found));
  }
  return [nvml, device]() -> std::optional<DeviceMemory> {
    Nvml::Memory memory{};
    if (nvml->nvmlDeviceGetMemoryInfo(device, &memory) != 0) return std::nullopt;
    return DeviceMemory{memory.used, memory.total};
  };
}

}  // namespace kb
