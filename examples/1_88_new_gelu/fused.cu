// GELU in its tanh form, in one pass without the tanh.
//
// Teaches: arithmetic hides behind memory only as long as there is little of it. As in the Triton version beside this,
// (1 + tanh(u)) / 2 is the sigmoid of 2u, so y = x / (1 + exp(-2u)). tanhf has a branch that threads of a warp take
// apart, and loses all digits of 1 + tanh(u) in the left tail; one expf and one division have neither fault. Where exp
// overflows the quotient is 0, as it should be. Blocks are many and short: each element is touched once, so there is
// nothing that a block could keep.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 256;
constexpr int kHeld = 2;  // float4s of a thread: the tensor is small, and more threads serve as well
constexpr float kSteepness = 1.5957691216057308f;  // 2 sqrt(2 / pi)

__device__ float Gelu(float x) {
  const float twice = kSteepness * (x + 0.044715f * x * x * x);
  return x / (1 + expf(-twice));
}

__global__ void __launch_bounds__(kThreads) Apply(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  const auto* x4 = reinterpret_cast<const float4*>(x);
  auto* y4 = reinterpret_cast<float4*>(y);
  const int64_t first = int64_t{blockIdx.x} * (kThreads * kHeld) + threadIdx.x, fours = n / 4;
  float4 held[kHeld];
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    if (first + k * kThreads < fours) held[k] = x4[first + k * kThreads];
  }
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const float4 v = held[k];
    if (first + k * kThreads < fours) y4[first + k * kThreads] = {Gelu(v.x), Gelu(v.y), Gelu(v.z), Gelu(v.w)};
  }
  const int64_t tail = fours * 4 + threadIdx.x;
  if (blockIdx.x == 0 && tail < n) y[tail] = Gelu(x[tail]);
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int64_t n = x.shape[0] * x.shape[1], blocks = n / (4 * kThreads * kHeld) + 1;
  Apply<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), n);
  return static_cast<int>(cudaGetLastError());
}
