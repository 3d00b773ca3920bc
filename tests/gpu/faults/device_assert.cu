// A device-side assertion that fails.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <cassert>

static __global__ void Kernel(const float* x, float* y) {
  y[0] = x[0];
  assert(threadIdx.x > 100);
}

KB_EXPORT int kb_forward(const kb_call* call) {
  Kernel<<<1, 1>>>(static_cast<const float*>(call->inputs[0].data), static_cast<float*>(call->outputs[0].data));
  return 0;
}
