// Hinge loss in one pass over the predictions.
//
// Teaches: what all rows share is read once. Eager PyTorch multiplies, subtracts, clamps and averages, each over a
// tensor of four gigabytes: seven passes. Here a thread stays in its column and walks down the rows, so that its target
// waits in a register, and a loss is added up as soon as it is known. Eight rows are loaded ahead of the sum.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <algorithm>

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int64_t kBlocks = 4096;  // about as many: some four times what the device holds

// In the first thread: the sum over all threads of the block.
template <typename T>
__device__ T BlockSum(T v) {
  __shared__ T warps[kWarps];
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 1; w < kWarps; ++w) v += warps[w];
  return v;
}

// blockIdx.x: which 256 columns; blockIdx.y: which `band` rows.
__global__ void __launch_bounds__(kThreads)
    AddUp(const float* __restrict__ predictions, const float* __restrict__ targets, double* __restrict__ sums,
          int64_t rows, int64_t columns, int64_t band) {
  const int64_t column = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  float sum = 0;
  if (column < columns) {
    const float target = targets[column];
    const int64_t begin = blockIdx.y * band, end = min(begin + band, rows);
#pragma unroll 8
    for (int64_t row = begin; row < end; ++row) {
      sum += fmaxf(1 - predictions[row * columns + column] * target, 0);
    }
  }
  const float total = BlockSum(sum);
  if (threadIdx.x == 0) sums[int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads)
    Mean(const double* __restrict__ sums, float* __restrict__ mean, int64_t blocks, int64_t n) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < blocks; i += kThreads) sum += sums[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) *mean = static_cast<float>(sum / static_cast<double>(n));
}

dim3 GridFor(const kb_tensor& predictions) {
  const int64_t x = (predictions.shape[1] + kThreads - 1) / kThreads;
  const int64_t y = std::clamp<int64_t>(kBlocks / x, 1, std::min<int64_t>(predictions.shape[0], 65535));
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  const dim3 grid = GridFor(call->inputs[0]);
  return uint64_t{grid.x} * grid.y * sizeof(double);
}

int kb_forward(const kb_call* call) {
  const kb_tensor &predictions = call->inputs[0], &targets = call->inputs[1];
  const int64_t rows = predictions.shape[0], columns = predictions.shape[1];
  const dim3 grid = GridFor(predictions);
  auto* sums = static_cast<double*>(call->workspace);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  AddUp<<<grid, kThreads, 0, stream>>>(static_cast<const float*>(predictions.data),
                                       static_cast<const float*>(targets.data), sums, rows, columns,
                                       (rows + grid.y - 1) / grid.y);
  Mean<<<1, kThreads, 0, stream>>>(sums, static_cast<float*>(call->outputs[0].data), int64_t{grid.x} * grid.y,
                                   rows * columns);
  return static_cast<int>(cudaGetLastError());
}
