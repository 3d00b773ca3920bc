// Three wrong elements among millions, at the beginning, in the middle and at the end. Every element is compared.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const bool wrong = i == 5 || i == n / 2 || i == n - 1;
  if (i < n) y[i] = wrong ? 2.0f : x[i] <= 0 ? 0.0f : x[i];
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
