// Found to be wrong in its first call, it takes all of the device's memory in its second, so that the judge fails where
// it only wants to know how wrong. The verdict is there by then.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

KB_EXPORT int kb_forward(const kb_call*) {
  static int calls = 0;
  if (calls++ == 0) return 0;
  void* memory = nullptr;
  for (size_t bytes = size_t{64} << 30; bytes >= size_t{2} << 20;) {
    if (cudaMalloc(&memory, bytes) != cudaSuccess) bytes /= 2;
  }
  cudaGetLastError();
  return 0;
}
