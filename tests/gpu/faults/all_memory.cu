// Takes all of the device's memory, keeps it, and then needs more.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

KB_EXPORT int kb_forward(const kb_call*) {
  void* memory = nullptr;
  for (size_t bytes = size_t{64} << 30; bytes >= size_t{2} << 20;) {
    if (cudaMalloc(&memory, bytes) != cudaSuccess) bytes /= 2;
  }
  return static_cast<int>(cudaMalloc(&memory, size_t{1} << 30));
}
