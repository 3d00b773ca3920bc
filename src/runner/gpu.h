// The GPU as a runner sees it. Opened after the runner is confined: the driver starts threads, and what confines a
// process holds for threads that are started later.
#ifndef RUNNER_GPU_H_
#define RUNNER_GPU_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cuda/driver.h"
#include "runner/memory.h"

namespace kb::runner {

class Gpu {
 public:
  static Result<Gpu> Open();

  // The device memory whose handle lies in the file `fd`.
  Result<Segment> Map(int fd) const;
  // Memory of this runner's own; freed with the process at the latest.
  Result<void*> Allocate(size_t bytes) const;
  void Free(void* memory) const;
  // Waits for everything that was started on the device; says how it failed.
  Status Synchronize() const;
  // Copies to device memory, and waits for it.
  Status Upload(void* to, const std::vector<std::byte>& from) const;
  // Fills device memory with zeros.
  Status Clear(void* memory, size_t bytes) const;

  // Waits until the device has changed to this process: otherwise launches would hide behind the change.
  void Arrive() const;
  // The device's own clock around what runs between these two on the legacy stream, and what blocks with it. Elapsed
  // after Synchronize(); 0 if the device cannot tell.
  void Start() const;
  void End() const;
  uint64_t ElapsedNs() const { return ElapsedNs(start_, end_); }
  // The same between two events of the caller's (CUevent), which lie on a stream that was waited for.
  uint64_t ElapsedNs(void* start, void* end) const;
  // Tells a profiler, if one is there, that what counts starts now, or has ended.
  void Profile(bool on) const;

 private:
  explicit Gpu(const cuda::Functions& driver) : driver_(&driver) {}
  const cuda::Functions* driver_;
  void *start_ = nullptr, *end_ = nullptr;  // events
  void* mark_ = nullptr;                    // memory that nobody reads
};

}  // namespace kb::runner

#endif  // RUNNER_GPU_H_
