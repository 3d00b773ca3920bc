#include "device/cuda/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace kb::cuda {
namespace {

constexpr size_t kAllocationUnit = size_t{2} << 20;

}  // namespace

void Must(const Functions& driver, int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "device process: %s\n", Check(driver, code, what).error().message.c_str());
  std::_Exit(3);
}

Result<std::unique_ptr<Buffer>> DeviceBuffer::Create(const Functions& driver, size_t bytes, const char* exported_as) {
  std::unique_ptr<DeviceBuffer> buffer(new DeviceBuffer(driver));
  buffer->size_ = bytes;
  const size_t whole = buffer->whole_ =
      (bytes + kAllocationUnit) / kAllocationUnit * kAllocationUnit;  // always guard bytes behind it
  KB_RETURN_IF_ERROR(Check(driver, driver.cuMemAlloc_v2(&buffer->address_, whole),
                           fmt::format("allocating {:.1f} MB", static_cast<double>(whole) / 1e6).c_str()));
  if (exported_as == nullptr) return buffer;
  IpcHandle handle{};
  KB_RETURN_IF_ERROR(Check(driver, driver.cuIpcGetMemHandle(&handle, buffer->address_), "exporting device memory"));
  buffer->fd_ = Fd(memfd_create(exported_as, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool written = buffer->fd_.valid() && write(buffer->fd_.get(), handle.data(), handle.size()) == 64;
  if (!written ||
      fcntl(buffer->fd_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot make a memory file for a device handle");
  }
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) driver_.cuMemFree_v2(address_);
}

Pinned::Pinned(const Functions& driver, size_t bytes) : driver_(driver), size_(bytes) {
  Must(driver, driver.cuMemHostAlloc(&memory_, std::max<size_t>(bytes, 16), 0), "allocating pinned memory");
}

Pinned::~Pinned() { driver_.cuMemFreeHost(memory_); }

}  // namespace kb::cuda
