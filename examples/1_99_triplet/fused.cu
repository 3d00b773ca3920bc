// Triplet margin loss, a row of all three tensors at a time.
//
// Teaches: 16-byte loads from rows that begin anywhere. Both distances are added up side by side, as in the module
// beside this, so that each tensor is read once where eager PyTorch makes twelve passes. With a row length that is no
// multiple of four most rows are not aligned, but memory is: a row is cut into up to three numbers, then fours, then up
// to three. All three tensors have the same cuts. A thread adds up in fp32; threads, rows and their mean are fp64.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr float kEpsilon = 1e-6f;  // F.triplet_margin_loss adds it to each difference

// In the first thread: the sum over all threads of the block. `warps`: shared, and not used before.
__device__ double BlockSum(double v, double* warps) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 1; w < kWarps; ++w) v += warps[w];
  return v;
}

__device__ float Square(float a, float b) {
  const float d = a - b + kEpsilon;
  return d * d;
}

__device__ float Square(float4 a, float4 b) {
  return (Square(a.x, b.x) + Square(a.y, b.y)) + (Square(a.z, b.z) + Square(a.w, b.w));
}

// One row a block.
__global__ void __launch_bounds__(kThreads)
    LossOfRow(const float* __restrict__ anchor, const float* __restrict__ positive, const float* __restrict__ negative,
              double* __restrict__ losses, int64_t features, double margin) {
  const int64_t begin = blockIdx.x * features, end = begin + features, middle = min((begin + 3) / 4 * 4, end);
  const int64_t fours = (end - middle) / 4;
  const auto* anchor4 = reinterpret_cast<const float4*>(anchor + middle);
  const auto* positive4 = reinterpret_cast<const float4*>(positive + middle);
  const auto* negative4 = reinterpret_cast<const float4*>(negative + middle);
  float near = 0, far = 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < fours; i += kThreads) {
    const float4 a = anchor4[i], p = positive4[i], n = negative4[i];
    near += Square(a, p);
    far += Square(a, n);
  }
  const auto loose = [&](int64_t from, int64_t to) {
    const int64_t i = from + threadIdx.x;
    if (i >= to) return;
    near += Square(anchor[i], positive[i]);
    far += Square(anchor[i], negative[i]);
  };
  loose(begin, middle);
  loose(middle + fours * 4, end);

  __shared__ double warps[2][kWarps];
  const double loss = sqrt(BlockSum(near, warps[0])) - sqrt(BlockSum(far, warps[1])) + margin;
  if (threadIdx.x == 0) losses[blockIdx.x] = loss < 0 ? 0 : loss;
}

__global__ void __launch_bounds__(kThreads)
    Mean(const double* __restrict__ losses, float* __restrict__ mean, int64_t rows) {
  __shared__ double warps[kWarps];
  double sum = 0;
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < rows; i += kThreads) sum += losses[i];
  sum = BlockSum(sum, warps);
  if (threadIdx.x == 0) *mean = static_cast<float>(sum / static_cast<double>(rows));
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  return static_cast<uint64_t>(call->inputs[0].shape[0]) * sizeof(double);
}

int kb_forward(const kb_call* call) {
  const kb_tensor& anchor = call->inputs[0];
  const int64_t rows = anchor.shape[0];
  auto* losses = static_cast<double*>(call->workspace);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  LossOfRow<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
      static_cast<const float*>(anchor.data), static_cast<const float*>(call->inputs[1].data),
      static_cast<const float*>(call->inputs[2].data), losses, anchor.shape[1], call->init[0].real);
  Mean<<<1, kThreads, 0, stream>>>(losses, static_cast<float*>(call->outputs[0].data), rows);
  return static_cast<int>(cudaGetLastError());
}
