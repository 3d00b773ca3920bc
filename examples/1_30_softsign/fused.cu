// Softsign in one pass, by blocks that stay.
//
// Teaches: what is used once need not be kept. Eager PyTorch runs three operators (magnitude, plus one, quotient) and
// moves six gigabytes seven times; two are needed. As many blocks as the device holds walk through the tensor together,
// so that no time goes into starting 400,000 of them. Loads and stores say that nobody will come back for the bytes
// (__ldcs, __stcs): their lines are the first to leave the L2 cache, and what others have there stays.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 256, kPerMultiprocessor = 6;
constexpr int kHeld = 4;  // float4s under way for each thread

__device__ float Softsign(float x) { return x / (1 + fabsf(x)); }

__global__ void __launch_bounds__(kThreads, kPerMultiprocessor)
    Apply(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  const auto* x4 = reinterpret_cast<const float4*>(x);
  auto* y4 = reinterpret_cast<float4*>(y);
  const int64_t fours = n / 4, step = int64_t{gridDim.x} * (kThreads * kHeld);
  for (int64_t i = int64_t{blockIdx.x} * (kThreads * kHeld) + threadIdx.x; i < fours; i += step) {
    float4 held[kHeld];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (i + k * kThreads < fours) held[k] = __ldcs(x4 + i + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const float4 v = held[k];
      const float4 result = {Softsign(v.x), Softsign(v.y), Softsign(v.z), Softsign(v.w)};
      if (i + k * kThreads < fours) __stcs(y4 + i + k * kThreads, result);
    }
  }
  const int64_t tail = fours * 4 + threadIdx.x;
  if (blockIdx.x == 0 && tail < n) y[tail] = Softsign(x[tail]);
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  int device = 0, multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  Apply<<<multiprocessors * kPerMultiprocessor, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), x.shape[0] * x.shape[1]);
  return static_cast<int>(cudaGetLastError());
}
