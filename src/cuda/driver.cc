#include "cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>

#include "cuda/library.h"

namespace kb::cuda {
namespace {

#define KB_CUDA_FUNCTIONS(X)  \
  X(cuInit)                   \
  X(cuDriverGetVersion)       \
  X(cuDeviceGetCount)         \
  X(cuDeviceGet)              \
  X(cuDeviceGetName)          \
  X(cuDeviceGetAttribute)     \
  X(cuDevicePrimaryCtxRetain) \
  X(cuCtxSetCurrent)          \
  X(cuCtxSynchronize)         \
  X(cuMemGetInfo_v2)          \
  X(cuMemAlloc_v2)            \
  X(cuMemFree_v2)             \
  X(cuMemHostAlloc)           \
  X(cuMemFreeHost)            \
  X(cuMemcpyDtoDAsync_v2)     \
  X(cuMemcpyDtoHAsync_v2)     \
  X(cuMemcpyHtoDAsync_v2)     \
  X(cuMemsetD8Async)          \
  X(cuMemsetD32Async)         \
  X(cuStreamSynchronize)      \
  X(cuModuleLoadData)         \
  X(cuModuleGetFunction)      \
  X(cuLaunchKernel)           \
  X(cuEventCreate)            \
  X(cuEventRecord)            \
  X(cuEventSynchronize)       \
  X(cuEventElapsedTime)       \
  X(cuProfilerStart)          \
  X(cuProfilerStop)           \
  X(cuIpcGetMemHandle)        \
  X(cuIpcOpenMemHandle_v2)    \
  X(cuIpcCloseMemHandle)      \
  X(cuGetErrorName)           \
  X(cuGetErrorString)

Result<const Functions*> Load() {
  static Functions functions;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Fail(ErrorCode::kUnavailable, "this machine has no NVIDIA driver (libcuda.so.1 cannot be loaded)");
  }
  std::string missing;
#define KB_FIND(name) \
  if (!Find(library, #name, &functions.name)) missing = #name;
  KB_CUDA_FUNCTIONS(KB_FIND)
#undef KB_FIND
  if (!missing.empty()) {
    return Fail(ErrorCode::kUnavailable, fmt::format("the NVIDIA driver is too old: it has no {}", missing));
  }
  if (const int code = functions.cuInit(0); code != 0) {
    KB_RETURN_IF_ERROR(Check(functions, code, "the NVIDIA driver does not start"));
  }
  int count = 0;
  if (functions.cuDeviceGetCount(&count) != 0 || count == 0) {
    return Fail(ErrorCode::kUnavailable, "the NVIDIA driver shows no device");
  }
  return &functions;
}

}  // namespace

Status Check(const Functions& driver, int code, const char* what) {
  if (code == 0) return {};
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(code, &name);
  driver.cuGetErrorString(code, &text);
  return Fail(ErrorCode::kUnavailable, fmt::format("{}: {} ({})", what, name != nullptr ? name : std::to_string(code),
                                                   text != nullptr ? text : "unknown"));
}

Result<const Functions*> LoadDriver() {
  static std::once_flag once;
  static Result<const Functions*> driver = nullptr;
  std::call_once(once, [] { driver = Load(); });
  return driver;
}

Status UseDevice(const Functions& driver) {
  int device = 0;
  void* context = nullptr;
  KB_RETURN_IF_ERROR(Check(driver, driver.cuDeviceGet(&device, 0), "finding the device"));
  KB_RETURN_IF_ERROR(Check(driver, driver.cuDevicePrimaryCtxRetain(&context, device), "opening the device"));
  return Check(driver, driver.cuCtxSetCurrent(context), "using the device");
}

}  // namespace kb::cuda
