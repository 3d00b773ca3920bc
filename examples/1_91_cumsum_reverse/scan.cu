// Running sums from the end of every row.
//
// Teaches: flipping is a matter of the index. Eager PyTorch flips the tensor, sums it up and flips it back: six passes
// over memory. Counting columns from the right costs nothing: the lanes of a warp still read 128 bytes in a row, only
// in descending order. The scan is that of 1_89_cumsum/scan.cu: a warp to a row, five shuffles for 32 elements.
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
    ScanFromEnd(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int64_t columns) {
  const int64_t row = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (row >= rows) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x) % 32;

  float sum = 0;  // of all groups so far
  for (int64_t tile = columns - 1; tile >= 0; tile -= 32 * kGroups) {
    const int64_t first = tile - lane, start = row * columns + first;
    float v[kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) v[g] = first - 32 * g >= 0 ? x[start - 32 * g] : 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      v[g] = RunningSum(v[g], lane);
      if (first - 32 * g >= 0) y[start - 32 * g] = sum + v[g];
      sum += __shfl_sync(~0u, v[g], 31);
    }
  }
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int64_t rows = x.shape[0], blocks = (rows * 32 + kThreads - 1) / kThreads;
  ScanFromEnd<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), rows, x.shape[1]);
  return static_cast<int>(cudaGetLastError());
}
