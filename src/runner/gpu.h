// The GPU as a runner sees it. Opened after the runner is confined: the driver starts threads, and what confines a
// process holds for threads that are started later.
#ifndef RUNNER_GPU_H_
#define RUNNER_GPU_H_

#include <cstddef>

#include "base/result.h"
#include "cuda/driver.h"
#include "runner/memory.h"

namespace kb::runner {

class Gpu {
 public:
  static Result<Gpu> Open();

  // The device memory whose handle lies in the file `fd`.
  Result<Segment> Map(int fd) const;
  // Memory of this runner's own; freed with the process.
  Result<void*> Allocate(size_t bytes) const;
  // Waits for everything that was started on the device; says how it failed.
  Status Synchronize() const;
  // Fills device memory with zeros.
  Status Clear(void* memory, size_t bytes) const;

 private:
  explicit Gpu(const cuda::Functions& driver) : driver_(&driver) {}
  const cuda::Functions* driver_;
};

}  // namespace kb::runner

#endif  // RUNNER_GPU_H_
