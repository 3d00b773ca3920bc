// The CUDA driver, found when it is needed: one binary runs with and without it, and building it needs no CUDA toolkit.
//
// The types and constants below are those of the driver's stable C ABI. Every call that fails yields an Error with the
// driver's own name for it.
#ifndef CUDA_DRIVER_H_
#define CUDA_DRIVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace kb::cuda {

using Address = uint64_t;  // in device memory
using Stream = void*;      // null: the legacy stream, with which every blocking stream is in order

using IpcHandle = std::array<char, 64>;

// Device attributes that we ask for.
enum Attribute : int {
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kMajor = 75,
  kMinor = 76,
};

// The driver's functions, each under its versioned symbol. All return 0 for success.
struct Functions {
  int (*cuInit)(unsigned flags);
  int (*cuDriverGetVersion)(int* version);
  int (*cuDeviceGetCount)(int* count);
  int (*cuDeviceGet)(int* device, int ordinal);
  int (*cuDeviceGetName)(char* name, int size, int device);
  int (*cuDeviceGetAttribute)(int* value, int attribute, int device);
  int (*cuDevicePrimaryCtxRetain)(void** context, int device);
  int (*cuCtxSetCurrent)(void* context);
  int (*cuCtxSynchronize)();
  int (*cuMemGetInfo_v2)(size_t* free, size_t* total);
  int (*cuMemAlloc_v2)(Address* address, size_t bytes);
  int (*cuMemFree_v2)(Address address);
  int (*cuMemHostAlloc)(void** memory, size_t bytes, unsigned flags);
  int (*cuMemFreeHost)(void* memory);
  int (*cuMemcpyDtoDAsync_v2)(Address to, Address from, size_t bytes, Stream stream);
  int (*cuMemcpyDtoHAsync_v2)(void* to, Address from, size_t bytes, Stream stream);
  int (*cuMemcpyHtoDAsync_v2)(Address to, const void* from, size_t bytes, Stream stream);
  int (*cuMemsetD8Async)(Address to, unsigned char value, size_t count, Stream stream);
  int (*cuMemsetD32Async)(Address to, unsigned value, size_t count, Stream stream);
  int (*cuStreamSynchronize)(Stream stream);
  int (*cuModuleLoadData)(void** module, const void* image);
  int (*cuModuleGetFunction)(void** function, void* module, const char* name);
  int (*cuLaunchKernel)(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared_bytes, Stream stream, void** arguments, void** extra);
  int (*cuEventCreate)(void** event, unsigned flags);
  int (*cuEventRecord)(void* event, Stream stream);
  int (*cuEventSynchronize)(void* event);
  int (*cuEventElapsedTime)(float* milliseconds, void* start, void* end);
  int (*cuProfilerStart)();
  int (*cuProfilerStop)();
  int (*cuIpcGetMemHandle)(IpcHandle* handle, Address address);
  int (*cuIpcOpenMemHandle_v2)(Address* address, IpcHandle handle, unsigned flags);
  int (*cuIpcCloseMemHandle)(Address address);
  int (*cuGetErrorName)(int error, const char** name);
  int (*cuGetErrorString)(int error, const char** text);
};

// The driver of this machine, initialised; an error that says what is missing. Loaded once.
Result<const Functions*> LoadDriver();

// Makes device 0's primary context, the one PyTorch uses too, current in this thread.
Status UseDevice(const Functions& driver);

// `code` of a driver call as an Error: "what: CUDA_ERROR_... (text)".
Status Check(const Functions& driver, int code, const char* what);

}  // namespace kb::cuda

#endif  // CUDA_DRIVER_H_
