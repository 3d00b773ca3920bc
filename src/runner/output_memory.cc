#include "runner/output_memory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runner/arena.h"

// glibc's own, under names that nothing else defines.
extern "C" {
void* __libc_memalign(size_t alignment, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void __libc_free(void* memory);
}

namespace {

using kb::runner::Arena;

Arena* arena = nullptr;  // lives as long as the process
uint64_t first = 0;      // of its addresses
std::atomic<uint64_t> reserved = 0, reach = 0;
std::vector<uint64_t>* admitted = nullptr;
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

// Also while another thread opens the arena: nothing has been taken from there by then.
bool IsOurs(const void* memory) { return reinterpret_cast<uint64_t>(memory) - first < reserved.load(); }

void* TakeOutput(size_t bytes) {
  if (arena == nullptr || !std::binary_search(admitted->begin(), admitted->end(), bytes)) return nullptr;
  const uint64_t address = arena->Take(bytes);
  if (address != 0) reach = std::max<uint64_t>(reach, address - first + bytes);
  return reinterpret_cast<void*>(address);
}

}  // namespace

void kbm_open(void* base, uint64_t bytes) {
  first = reinterpret_cast<uint64_t>(base);
  admitted = new std::vector<uint64_t>;
  arena = new Arena(first, bytes);
  reserved = bytes;
}

void kbm_admit(const uint64_t* sizes, int count) {
  admitted->assign(sizes, sizes + count);
  std::sort(admitted->begin(), admitted->end());
  reach = 0;
}

void kbm_enter() { inside = true; }
void kbm_leave() { inside = false; }
uint64_t kbm_reach() { return reach; }

KBM_EXPORT int posix_memalign(void** to, size_t alignment, size_t bytes) noexcept {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* memory = inside && alignment <= Arena::kAlignment ? TakeOutput(bytes) : nullptr;
  if (memory == nullptr) {
    const int before = errno;
    memory = __libc_memalign(alignment, bytes);
    errno = before;
  }
  if (memory == nullptr) return ENOMEM;
  *to = memory;
  return 0;
}

KBM_EXPORT void free(void* memory) noexcept {
  if (!IsOurs(memory)) return __libc_free(memory);
  arena->Give(reinterpret_cast<uint64_t>(memory));
}

KBM_EXPORT void* realloc(void* memory, size_t bytes) noexcept {
  if (!IsOurs(memory)) return __libc_realloc(memory, bytes);
  void* moved = std::malloc(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, memory, std::min(bytes, arena->SizeOf(reinterpret_cast<uint64_t>(memory))));
  free(memory);
  return moved;
}
