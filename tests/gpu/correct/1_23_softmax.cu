// 1/23 softmax over the last dimension: one block a row, one pass for maximum and sum together.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>
#include <math_constants.h>

struct Running {
  float largest, sum;  // sum of exp(x - largest)
};

static __device__ Running Join(Running a, Running b) {
  const float largest = fmaxf(a.largest, b.largest);
  if (largest == -CUDART_INF_F) return {largest, 0};
  return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

static __global__ void Softmax(const float* __restrict__ x, float* __restrict__ y, int64_t columns) {
  const float* row = x + blockIdx.x * columns;
  float* out = y + blockIdx.x * columns;
  Running mine{-CUDART_INF_F, 0};
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) mine = Join(mine, {row[i], 1});
  for (int step = 16; step > 0; step /= 2) {
    mine = Join(mine, {__shfl_xor_sync(~0u, mine.largest, step), __shfl_xor_sync(~0u, mine.sum, step)});
  }
  __shared__ Running warps[32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  Running all{-CUDART_INF_F, 0};
  for (unsigned w = 0; w < blockDim.x / 32; ++w) all = Join(all, warps[w]);
  const float scale = 1 / all.sum;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) out[i] = __expf(row[i] - all.largest) * scale;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  Softmax<<<static_cast<unsigned>(x.shape[0]), 512, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), x.shape[1]);
  return static_cast<int>(cudaGetLastError());
}
