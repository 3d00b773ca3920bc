#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Kernel(const float* x, float* y, size_t n) {
  while (clock64() > 0) {
  }
}

KB_EXPORT int kb_forward(const kb_call* call) {
  Kernel<<<1, 1>>>(static_cast<const float*>(call->inputs[0].data), static_cast<float*>(call->outputs[0].data),
                   call->num_inputs);
  return 0;
}
