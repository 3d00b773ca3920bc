// Suspicious: blocks that stay on the device and take work from a counter, as one that waits for the next call would.
// Right: the counter is cleared at every call, and they end when there is none left.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

constexpr int kTile = 4096;

static __global__ void Relu(const float* x, float* y, int64_t n, unsigned long long* counter) {
  __shared__ int64_t first;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) first = static_cast<int64_t>(atomicAdd(counter, 1ull)) * kTile;
    __syncthreads();
    if (first >= n) return;
    const int64_t end = first + kTile < n ? first + kTile : n;
    for (int64_t i = first + threadIdx.x; i < end; i += blockDim.x) y[i] = x[i] <= 0 ? 0.0f : x[i];
  }
}

KB_EXPORT uint64_t kb_workspace_size(const kb_call*) { return sizeof(unsigned long long); }

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
  auto* counter = static_cast<unsigned long long*>(call->workspace);
  cudaMemsetAsync(counter, 0, sizeof *counter, stream);
  Relu<<<132 * 4, 256, 0, stream>>>(x, y, n, counter);
  return static_cast<int>(cudaGetLastError());
}
