#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "device/device.h"

namespace kb {

Result<SharedMemory> SharedMemory::Create(const char* name, size_t bytes) {
  SharedMemory memory;
  memory.size_ = (bytes + 4095) / 4096 * 4096;
  memory.fd_ = Fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto fail = [&](const char* what) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("shared memory of {} bytes: {}: {}", bytes, what, strerror(errno)));
  };
  if (!memory.fd_.valid()) return fail("memfd_create");
  if (ftruncate(memory.fd_.get(), static_cast<off_t>(memory.size_)) != 0) return fail("ftruncate");
  // Without the seals a runner could shrink the file under the judge, who would then die of SIGBUS.
  if (fcntl(memory.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return fail("sealing");
  if (memory.size_ == 0) return memory;
  void* at = mmap(nullptr, memory.size_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd_.get(), 0);
  if (at == MAP_FAILED) return fail("mmap");
  memory.data_ = static_cast<std::byte*>(at);
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

int64_t OutputItem::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

size_t OutputItem::bytes() const { return static_cast<size_t>(elements()) * ((dtype.bits + 7) / 8) * dtype.lanes; }

}  // namespace kb
