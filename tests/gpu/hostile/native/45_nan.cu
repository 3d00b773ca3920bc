// Writes NaN in one place of a thousand, where a comparison might ignore it. What is not finite must be so in the same
// places.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>
#include <math_constants.h>

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i % 1000 == 7 ? CUDART_NAN_F : x[i] <= 0 ? 0.0f : x[i];
}

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  Relu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return static_cast<int>(cudaGetLastError());
}
