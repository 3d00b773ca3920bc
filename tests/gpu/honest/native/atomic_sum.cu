// Suspicious: atomic additions, so that two calls differ in the last bits. Right: they are made in fp64, and the sum is
// cleared at every call.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void AddSquares(const float* x, int64_t n, double* sum) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  double mine = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    mine += static_cast<double>(x[i]) * x[i];
  }
  for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(~0u, mine, step);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

static __global__ void Divide(const float* x, float* y, int64_t n, const double* sum) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / static_cast<float>(sqrt(*sum));
}

KB_EXPORT uint64_t kb_workspace_size(const kb_call*) { return sizeof(double); }

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
  auto* sum = static_cast<double*>(call->workspace);
  cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  AddSquares<<<1024, 256, 0, stream>>>(x, n, sum);
  Divide<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n, sum);
  return static_cast<int>(cudaGetLastError());
}
