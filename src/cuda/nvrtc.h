// NVRTC, the compiler of device code that is a library: no processes, no preprocessor apart, no headers for the host.
// Found at run time, as the driver is.
#ifndef CUDA_NVRTC_H_
#define CUDA_NVRTC_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace kb::cuda {

struct DeviceProgram {
  std::string source;
  std::string name = "kernels.cu";  // in messages
  std::vector<std::string> options;
  std::vector<std::string> expressions;  // kernels whose names in the machine code are wanted: "&::scope::name<int>"
};

struct DeviceCode {
  bool ok = false;
  std::string log;                 // all that NVRTC said
  std::string image;               // machine code, if ok
  std::vector<std::string> names;  // of the expressions
};

// A program that NVRTC refuses is a result; no NVRTC is an error. `library`: its path, or empty: looked for under its
// usual names.
Result<DeviceCode> CompileDeviceProgram(const DeviceProgram& program, const std::string& library);

}  // namespace kb::cuda

#endif  // CUDA_NVRTC_H_
