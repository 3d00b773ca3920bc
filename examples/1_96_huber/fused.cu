// Smooth L1 loss without the tensor of losses.
//
// Teaches: two cases, one formula. With a = |d| and c = min(a, 1), c (a - c / 2) is a^2 / 2 below 1 and a - 1/2 above,
// so that neighbouring numbers of different cases cost no more than others. Eager PyTorch writes four gigabytes of
// losses and reads them back; here a block leaves one number in the workspace, and a second kernel adds those up.
// A thread counts in fp32, 2,048 numbers in four sums; all beyond that is added in fp64, in the same order each time.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kBlocks = 2048;

// In the first thread: the sum over all threads of the block.
__device__ double BlockSum(double v) {
  __shared__ double warps[kWarps];
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 1; w < kWarps; ++w) v += warps[w];
  return v;
}

__device__ float Loss(float d) {
  const float magnitude = fabsf(d), capped = fminf(magnitude, 1);
  return capped * (magnitude - 0.5f * capped);
}

__global__ void __launch_bounds__(kThreads)
    AddUp(const float* __restrict__ predictions, const float* __restrict__ targets, double* __restrict__ sums,
          int64_t n) {
  const auto* predictions4 = reinterpret_cast<const float4*>(predictions);
  const auto* targets4 = reinterpret_cast<const float4*>(targets);
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x, stride = int64_t{kBlocks} * kThreads;
  float4 sum = {0, 0, 0, 0};
#pragma unroll 4
  for (int64_t i = first; i < n / 4; i += stride) {
    const float4 p = predictions4[i], t = targets4[i];
    sum.x += Loss(p.x - t.x);
    sum.y += Loss(p.y - t.y);
    sum.z += Loss(p.z - t.z);
    sum.w += Loss(p.w - t.w);
  }
  for (int64_t i = n / 4 * 4 + first; i < n; i += stride) sum.x += Loss(predictions[i] - targets[i]);
  const double total = BlockSum((double{sum.x} + sum.y) + (double{sum.z} + sum.w));
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads) Mean(const double* __restrict__ sums, float* __restrict__ mean, int64_t n) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < kBlocks; i += kThreads) sum += sums[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) *mean = static_cast<float>(sum / static_cast<double>(n));
}

}  // namespace

uint64_t kb_workspace_size(const kb_call*) { return kBlocks * sizeof(double); }

int kb_forward(const kb_call* call) {
  const kb_tensor &predictions = call->inputs[0], &targets = call->inputs[1];
  const int64_t n = predictions.shape[0] * predictions.shape[1];
  auto* sums = static_cast<double*>(call->workspace);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  AddUp<<<kBlocks, kThreads, 0, stream>>>(static_cast<const float*>(predictions.data),
                                          static_cast<const float*>(targets.data), sums, n);
  Mean<<<1, kThreads, 0, stream>>>(sums, static_cast<float*>(call->outputs[0].data), n);
  return static_cast<int>(cudaGetLastError());
}
