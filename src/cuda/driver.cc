#include "cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <vector>

namespace kb::cuda {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

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

// NVRTC's functions, as far as they are needed.
struct Nvrtc {
  int (*nvrtcCreateProgram)(void** program, const char* source, const char* name, int headers, const char* const* texts,
                            const char* const* names);
  int (*nvrtcCompileProgram)(void* program, int options, const char* const* texts);
  int (*nvrtcGetCUBINSize)(void* program, size_t* size);
  int (*nvrtcGetCUBIN)(void* program, char* text);
  int (*nvrtcGetProgramLogSize)(void* program, size_t* size);
  int (*nvrtcGetProgramLog)(void* program, char* text);
  int (*nvrtcDestroyProgram)(void** program);
};

Result<Nvrtc> LoadNvrtc(const std::string& given) {
  std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"};
  if (!given.empty()) names.insert(names.begin(), given);
  void* library = nullptr;
  for (const std::string& name : names) {
    if (library == nullptr) library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  Nvrtc nvrtc{};
  const bool found = library != nullptr && Find(library, "nvrtcCreateProgram", &nvrtc.nvrtcCreateProgram) &&
                     Find(library, "nvrtcCompileProgram", &nvrtc.nvrtcCompileProgram) &&
                     Find(library, "nvrtcGetCUBINSize", &nvrtc.nvrtcGetCUBINSize) &&
                     Find(library, "nvrtcGetCUBIN", &nvrtc.nvrtcGetCUBIN) &&
                     Find(library, "nvrtcGetProgramLogSize", &nvrtc.nvrtcGetProgramLogSize) &&
                     Find(library, "nvrtcGetProgramLog", &nvrtc.nvrtcGetProgramLog) &&
                     Find(library, "nvrtcDestroyProgram", &nvrtc.nvrtcDestroyProgram);
  if (found) return nvrtc;
  return Fail(ErrorCode::kUnavailable,
              "no NVRTC: PyTorch for CUDA brings it (libnvrtc.so.12 or .13), and so does the CUDA toolkit");
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

Result<std::string> CompileAtRunTime(const std::string& source, int major, int minor, const std::string& library) {
  KB_ASSIGN_OR_RETURN(const Nvrtc nvrtc, LoadNvrtc(library));
  void* program = nullptr;
  if (nvrtc.nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0) {
    return Fail(ErrorCode::kEngine, "NVRTC takes no program");
  }
  const std::string target = fmt::format("--gpu-architecture=sm_{}{}", major, minor);
  const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false"};
  const int code = nvrtc.nvrtcCompileProgram(program, 3, options);
  std::string text;
  size_t size = 0;
  if (code == 0 && nvrtc.nvrtcGetCUBINSize(program, &size) == 0) {
    text.resize(size);
    if (nvrtc.nvrtcGetCUBIN(program, text.data()) != 0) text.clear();
  } else if (nvrtc.nvrtcGetProgramLogSize(program, &size) == 0) {
    text.resize(size);
    nvrtc.nvrtcGetProgramLog(program, text.data());
    nvrtc.nvrtcDestroyProgram(&program);
    return Fail(ErrorCode::kEngine, "NVRTC refuses the device library's kernels: " + text);
  }
  nvrtc.nvrtcDestroyProgram(&program);
  if (text.empty()) return Fail(ErrorCode::kEngine, "NVRTC made no machine code");
  return text;
}

}  // namespace kb::cuda
