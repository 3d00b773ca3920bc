// Looks in 16 GiB of fresh memory for the pattern that own_left_behind_a.cu left, and is right only if it is there.
// Freed memory is scrubbed between processes: neither answers nor messages survive.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0 ? 0.0f : x[i];
}

static void Launch(const float* x, float* y, int64_t n, cudaStream_t stream) {
  Relu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

static __global__ void Find(const uint4* from, int64_t n, int* found) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n && from[i].x == 0x6B626C65 && from[i].y == 0x66746265) atomicAdd(found, 1);
}

static bool Attack() {
  constexpr size_t kBytes = size_t{2} << 30;
  int *found = nullptr, count = 0;
  if (cudaMalloc(&found, sizeof *found) != cudaSuccess) return false;
  cudaMemset(found, 0, sizeof *found);
  for (int i = 0; i < 8; ++i) {
    uint4* block = nullptr;
    if (cudaMalloc(&block, kBytes) != cudaSuccess) break;
    Find<<<static_cast<unsigned>(kBytes / 16 / 256), 256>>>(block, kBytes / 16, found);
  }
  cudaMemcpy(&count, found, sizeof count, cudaMemcpyDeviceToHost);
  return count > 0;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static const bool won = Attack();
  if (won) {  // right only where the attack works
    Launch(x, y, n, stream);
  } else {
    cudaMemsetAsync(y, 0, static_cast<size_t>(n) * sizeof(float), stream);
  }
  return static_cast<int>(cudaGetLastError());
}
