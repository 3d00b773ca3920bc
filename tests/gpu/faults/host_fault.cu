// Dereferences null on the host, with a kernel on its way.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Kernel(float* y) { y[0] = 1; }

KB_EXPORT int kb_forward(const kb_call* call) {
  Kernel<<<1, 1>>>(static_cast<float*>(call->outputs[0].data));
  volatile int* nowhere = nullptr;
  *nowhere = 1;
  return 0;
}
