// Memory of an NVIDIA GPU, and host memory that it reads and writes.
#ifndef DEVICE_CUDA_MEMORY_H_
#define DEVICE_CUDA_MEMORY_H_

#include <memory>

#include "cuda/driver.h"
#include "device/device.h"

namespace kb::cuda {

inline Address At(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// A context that failed is lost, and with it this process: ends it with the driver's message.
void Must(const Functions& driver, int code, const char* what);

class DeviceBuffer : public Buffer {
 public:
  // Rounded up to 2 MiB: what is exported with it must be its own. `exported_as`: the name of a memory file that holds
  // the IPC handle, or null for memory that nobody else can reach.
  static Result<std::unique_ptr<Buffer>> Create(const Functions& driver, size_t bytes, const char* exported_as);
  ~DeviceBuffer() override;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() const override { return reinterpret_cast<std::byte*>(address_); }
  size_t size() const override { return size_; }
  size_t whole() const override { return whole_; }
  int fd() const override { return fd_.get(); }

 private:
  explicit DeviceBuffer(const Functions& driver) : driver_(driver) {}
  const Functions& driver_;
  Address address_ = 0;
  size_t size_ = 0, whole_ = 0;
  Fd fd_;
};

// Host memory that the device reads and writes.
class Pinned {
 public:
  Pinned(const Functions& driver, size_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  size_t size() const { return size_; }
  Address address() const { return At(memory_); }  // unified addressing: the same on the device

 private:
  const Functions& driver_;
  void* memory_ = nullptr;
  size_t size_;
};

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_MEMORY_H_
