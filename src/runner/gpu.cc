#include "runner/gpu.h"

#include <unistd.h>

namespace kb::runner {

Result<Gpu> Gpu::Open() {
  KB_ASSIGN_OR_RETURN(const cuda::Functions* driver, cuda::LoadDriver());
  KB_RETURN_IF_ERROR(cuda::UseDevice(*driver));
  Gpu gpu(*driver);
  KB_RETURN_IF_ERROR(cuda::Check(*driver, driver->cuEventCreate(&gpu.start_, 0), "making an event"));
  KB_RETURN_IF_ERROR(cuda::Check(*driver, driver->cuEventCreate(&gpu.end_, 0), "making an event"));
  KB_ASSIGN_OR_RETURN(gpu.mark_, gpu.Allocate(sizeof(uint32_t)));
  return gpu;
}

Result<Segment> Gpu::Map(int fd) const {
  cuda::IpcHandle handle{};
  if (pread(fd, handle.data(), handle.size(), 0) != static_cast<ssize_t>(handle.size())) {
    return Fail(ErrorCode::kEngine, "the file of a device handle is short");
  }
  constexpr unsigned kLazyPeerAccess = 1;
  cuda::Address address = 0;
  KB_RETURN_IF_ERROR(cuda::Check(*driver_, driver_->cuIpcOpenMemHandle_v2(&address, handle, kLazyPeerAccess),
                                 "mapping shared memory"));
  return Segment::Of(reinterpret_cast<std::byte*>(address));
}

Result<void*> Gpu::Allocate(size_t bytes) const {
  cuda::Address address = 0;
  KB_RETURN_IF_ERROR(cuda::Check(*driver_, driver_->cuMemAlloc_v2(&address, bytes), "allocating device memory"));
  return reinterpret_cast<void*>(address);
}

void Gpu::Free(void* memory) const { driver_->cuMemFree_v2(reinterpret_cast<cuda::Address>(memory)); }

Status Gpu::Synchronize() const { return cuda::Check(*driver_, driver_->cuCtxSynchronize(), "the device"); }

Status Gpu::Upload(void* to, const std::vector<std::byte>& from) const {
  KB_RETURN_IF_ERROR(cuda::Check(
      *driver_, driver_->cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::Address>(to), from.data(), from.size(), nullptr),
      "the device"));
  return cuda::Check(*driver_, driver_->cuStreamSynchronize(nullptr), "the device");
}

Status Gpu::Clear(void* memory, size_t bytes) const {
  return cuda::Check(*driver_, driver_->cuMemsetD8Async(reinterpret_cast<cuda::Address>(memory), 0, bytes, nullptr),
                     "the device");
}

void Gpu::Arrive() const {
  driver_->cuEventRecord(end_, nullptr);
  driver_->cuEventSynchronize(end_);
}

// Behind a kernel, which filling memory is. An event that follows a copy is the copy engine's, which waits for no
// change of contexts: the call would seem to begin before the judge's hold is over.
void Gpu::Start() const {
  driver_->cuMemsetD32Async(reinterpret_cast<cuda::Address>(mark_), 0, 1, nullptr);
  driver_->cuEventRecord(start_, nullptr);
}

void Gpu::End() const { driver_->cuEventRecord(end_, nullptr); }

uint64_t Gpu::ElapsedNs(void* start, void* end) const {
  float milliseconds = 0;
  if (driver_->cuEventElapsedTime(&milliseconds, start, end) != 0 || !(milliseconds > 0)) return 0;
  return static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

void Gpu::Profile(bool on) const { on ? driver_->cuProfilerStart() : driver_->cuProfilerStop(); }

}  // namespace kb::runner
