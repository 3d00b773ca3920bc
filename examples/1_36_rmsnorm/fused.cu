// RMSNorm over the channels, all channels of a pixel in the registers of one thread.
//
// Teaches: one read and one write. Eager PyTorch runs five operators (square, mean, add, square root, divide) and moves
// the tensor five times. Here a thread loads every channel of its pixel before it uses one, so that 64 loads are under
// way at once, and neighbouring threads have neighbouring pixels, so that each load of a warp is 128 bytes in a row.
// What lies in registers need not be read again to be divided.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kThreads = 256;
constexpr int kHeld = 64;  // channels in registers; those beyond are read twice
constexpr float kEpsilon = 1e-5f;

// One pixel a thread; blockIdx.y is the image. The channels of a pixel lie `plane` elements apart.
__global__ void __launch_bounds__(kThreads)
    Normalise(const float* __restrict__ x, float* __restrict__ y, int channels, int64_t plane) {
  const int64_t pixel = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pixel >= plane) return;
  const int64_t start = int64_t{blockIdx.y} * channels * plane + pixel;
  x += start;
  y += start;

  float held[kHeld], sum = 0;
#pragma unroll
  for (int c = 0; c < kHeld; ++c) held[c] = c < channels ? x[c * plane] : 0;
#pragma unroll
  for (int c = 0; c < kHeld; ++c) sum += held[c] * held[c];
  for (int c = kHeld; c < channels; ++c) sum += x[c * plane] * x[c * plane];

  const float scale = 1 / sqrtf(sum / static_cast<float>(channels) + kEpsilon);
#pragma unroll
  for (int c = 0; c < kHeld; ++c) {
    if (c < channels) y[c * plane] = held[c] * scale;
  }
  for (int c = kHeld; c < channels; ++c) y[c * plane] = x[c * plane] * scale;
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int64_t plane = x.shape[2] * x.shape[3];
  const dim3 grid(static_cast<unsigned>((plane + kThreads - 1) / kThreads), static_cast<unsigned>(x.shape[0]));
  Normalise<<<grid, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(static_cast<const float*>(x.data),
                                                                            static_cast<float*>(call->outputs[0].data),
                                                                            static_cast<int>(x.shape[1]), plane);
  return static_cast<int>(cudaGetLastError());
}
