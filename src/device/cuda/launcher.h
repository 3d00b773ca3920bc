// The kernels of memory.cu and compare.cu, compiled for the device that is present, and how to launch them.
#ifndef DEVICE_CUDA_LAUNCHER_H_
#define DEVICE_CUDA_LAUNCHER_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "device/cuda/memory.h"

namespace kb::cuda {

class Launcher {
 public:
  static constexpr unsigned kThreads = 256;  // THREADS in memory.cu

  static Result<Launcher> Create(const Functions& driver, int major, int minor, int multiprocessors);

  // Blocks of a launch for `items` threads: enough for all of them, or all that run at once.
  unsigned Blocks(uint64_t items) const {
    const uint64_t most = static_cast<uint64_t>(multiprocessors_) * 8;
    return static_cast<unsigned>(std::clamp<uint64_t>((items + kThreads - 1) / kThreads, 1, most));
  }

  // On the legacy stream. One item is one thread.
  template <typename... Arguments>
  void Launch(const std::string& name, uint64_t items, Arguments... arguments) {
    void*& function = functions_[name];
    if (function == nullptr)
      Must(*driver_, driver_->cuModuleGetFunction(&function, module_, name.c_str()), name.c_str());
    void* pointers[] = {&arguments...};
    const unsigned threads = items == 1 ? 1 : kThreads;
    Must(*driver_, driver_->cuLaunchKernel(function, Blocks(items), 1, 1, threads, 1, 1, 0, nullptr, pointers, nullptr),
         name.c_str());
  }

 private:
  Launcher(const Functions& driver, int multiprocessors) : driver_(&driver), multiprocessors_(multiprocessors) {}
  const Functions* driver_;
  int multiprocessors_;
  void* module_ = nullptr;
  std::map<std::string, void*> functions_;
};

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_LAUNCHER_H_
