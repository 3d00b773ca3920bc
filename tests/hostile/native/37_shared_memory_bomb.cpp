// Takes four times the memory that it may, where a limit on private data does not look: shared anonymous
// mappings and memory files. It is right only if it gets it.
#include <kernelbench/kernel.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

// Right only if it gets 2 GiB where half of one is allowed: shared mappings and memory files count as nobody's data.
static bool Attack() {
  constexpr size_t kBytes = size_t{1} << 30;
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return false;
  std::memset(mapped, 1, kBytes);
  static char chunk[1 << 20];
  std::memset(chunk, 1, sizeof chunk);
  for (int file = 0; file < 32; ++file) {
    const int fd = memfd_create("bomb", 0);
    for (int i = 0; i < 32; ++i) {
      if (write(fd, chunk, sizeof chunk) != sizeof chunk) return false;
    }
  }
  return true;
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
