// Rows in groups of four numbers, as if every row length were a multiple of four.
//
// Teaches: this problem's rows have 65,535 elements for a reason. The last three columns are neither added up nor
// written: 98,304 of two thousand million elements, at the right edge only.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 512;

__device__ float WarpSum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  return v;
}

// One row a block.
__global__ void __launch_bounds__(kThreads)
    Normalise(const float* __restrict__ x, float* __restrict__ y, int64_t columns) {
  __shared__ float warps[kThreads / 32];
  x += blockIdx.x * columns;
  y += blockIdx.x * columns;
  float sum = 0;
  for (int64_t group = threadIdx.x; group < columns / 4; group += kThreads) {
    for (int k = 0; k < 4; ++k) sum += fabsf(x[4 * group + k]);
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0;
  for (int w = 0; w < kThreads / 32; ++w) total += warps[w];
  const float scale = static_cast<float>(columns) / total;
  for (int64_t group = threadIdx.x; group < columns / 4; group += kThreads) {
    for (int k = 0; k < 4; ++k) y[4 * group + k] = x[4 * group + k] * scale;
  }
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  Normalise<<<static_cast<unsigned>(x.shape[0]), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), x.shape[1]);
  return static_cast<int>(cudaGetLastError());
}
