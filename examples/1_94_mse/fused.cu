// Mean squared error without the tensor of squared errors.
//
// Teaches: a reduction over the whole device in two kernels. Eager PyTorch writes every squared difference to memory
// and reads it back for the mean: four passes where two are needed. Here each block leaves one number in the workspace,
// and a second kernel of one block adds those up. Blocks count in fp32, which is short enough for few rounding errors;
// the 2,048 sums of blocks are added in fp64, in the same order each time.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kBlocks = 2048;

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

__device__ float Square(float d) { return d * d; }

__global__ void __launch_bounds__(kThreads)
    AddUp(const float* __restrict__ a, const float* __restrict__ b, double* __restrict__ sums, int64_t n) {
  const auto* a4 = reinterpret_cast<const float4*>(a);
  const auto* b4 = reinterpret_cast<const float4*>(b);
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x, stride = int64_t{kBlocks} * kThreads;
  float4 sum = {0, 0, 0, 0};
#pragma unroll 4
  for (int64_t i = first; i < n / 4; i += stride) {
    const float4 p = a4[i], t = b4[i];
    sum.x += Square(p.x - t.x);
    sum.y += Square(p.y - t.y);
    sum.z += Square(p.z - t.z);
    sum.w += Square(p.w - t.w);
  }
  for (int64_t i = n / 4 * 4 + first; i < n; i += stride) sum.x += Square(a[i] - b[i]);
  const float total = BlockSum((sum.x + sum.y) + (sum.z + sum.w));
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
