// Running sums, a warp to a row.
//
// Teaches: the 32 threads of a warp are the lanes of a vector. Five shuffles make the running sums of 32 neighbouring
// elements, no shared memory and no barrier needed, and neighbouring lanes read neighbouring addresses. Eight groups of
// 32 are loaded before the first is used, so that memory is always busy; only one addition for each group has to wait
// for the group before it.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 256;
constexpr int kGroups = 8;

// The sum of the lanes up to and including this one.
__device__ float RunningSum(float v, int lane) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(~0u, v, step);
    if (lane >= step) v += before;
  }
  return v;
}

__global__ void __launch_bounds__(kThreads)
    Scan(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int64_t columns) {
  const int64_t row = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (row >= rows) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x) % 32;
  x += row * columns;
  y += row * columns;

  float sum = 0;  // of all groups so far
  for (int64_t tile = 0; tile < columns; tile += 32 * kGroups) {
    const int64_t first = tile + lane;
    float v[kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) v[g] = first + 32 * g < columns ? x[first + 32 * g] : 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      v[g] = RunningSum(v[g], lane);
      if (first + 32 * g < columns) y[first + 32 * g] = sum + v[g];
      sum += __shfl_sync(~0u, v[g], 31);
    }
  }
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int64_t rows = x.shape[0], blocks = (rows * 32 + kThreads - 1) / kThreads;
  Scan<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), rows, x.shape[1]);
  return static_cast<int>(cudaGetLastError());
}
