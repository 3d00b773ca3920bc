// A second trusted process on the GPU, which uses it for a moment before each baseline.
//
// The candidate lives in another process than the inputs' presenter and the watch, so its first kernels meet a GPU that
// has just changed contexts: address translations and instructions are not cached, which costs short calls tens of
// microseconds beside the change itself. The baseline meets the same if some other context had the device last.
#ifndef DEVICE_CUDA_INTERPOSER_H_
#define DEVICE_CUDA_INTERPOSER_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "base/subprocess.h"
#include "device/device.h"

namespace kb::cuda {

class Interposer {
 public:
  // `program`: kb-interposer of this installation. It ends with this process.
  static Result<Interposer> Start(const std::string& program);

  // Returns when the other process has had the device. False if it is gone.
  bool Use();

 private:
  Interposer(Subprocess process, SharedMemory page) : process_(std::move(process)), page_(std::move(page)) {}
  Subprocess process_;
  SharedMemory page_;
  uint64_t asked_ = 0;
};

// The other process's whole life: `fd` holds the page. Returns its exit code.
int ServeInterposer(int fd);

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_INTERPOSER_H_
