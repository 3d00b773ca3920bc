// Writes only what is not zero anyway, relying on outputs that somebody has zeroed. They hold poison.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Positive(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) y[i] = x[i];
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
  Positive<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  return static_cast<int>(cudaGetLastError());
}
