// Kullback-Leibler divergence in one pass, with one logarithm.
//
// Teaches: at the speed of memory an accurate logarithm is not cheap. Two for each pair of numbers keep the arithmetic
// units about as long as memory takes to bring the pair; log(t) - log(p) = log(t / p) needs one and a division. That
// may be the fast one: its two units in the last place change a logarithm by less than rounding log(t) and log(p) does,
// which are larger than their difference. Blocks leave one number each in the workspace, and a second kernel adds those
// up.
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

__device__ float Term(float p, float t) {
  const float difference = logf(__fdividef(t, p));
  return t == 0 ? 0 : t * difference;  // 0 log 0 is 0
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
    sum.x += Term(p.x, t.x);
    sum.y += Term(p.y, t.y);
    sum.z += Term(p.z, t.z);
    sum.w += Term(p.w, t.w);
  }
  for (int64_t i = n / 4 * 4 + first; i < n; i += stride) sum.x += Term(predictions[i], targets[i]);
  const double total = BlockSum((double{sum.x} + sum.y) + (double{sum.z} + sum.w));
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads)
    MeanOfRows(const double* __restrict__ sums, float* __restrict__ mean, int64_t rows) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < kBlocks; i += kThreads) sum += sums[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) *mean = static_cast<float>(sum / static_cast<double>(rows));
}

}  // namespace

uint64_t kb_workspace_size(const kb_call*) { return kBlocks * sizeof(double); }

int kb_forward(const kb_call* call) {
  const kb_tensor &predictions = call->inputs[0], &targets = call->inputs[1];
  const int64_t rows = predictions.shape[0], n = rows * predictions.shape[1];
  auto* sums = static_cast<double*>(call->workspace);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  AddUp<<<kBlocks, kThreads, 0, stream>>>(static_cast<const float*>(predictions.data),
                                          static_cast<const float*>(targets.data), sums, n);
  MeanOfRows<<<1, kThreads, 0, stream>>>(sums, static_cast<float*>(call->outputs[0].data), rows);
  return static_cast<int>(cudaGetLastError());
}
