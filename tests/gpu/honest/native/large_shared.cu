// Suspicious: an attribute of the function is changed. Right: a block of 256 positions keeps all their channels in
// shared memory, which is more than 48 KiB and has to be asked for.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

constexpr int kPositions = 256;

static __global__ void Normalise(const float* x, float* y, int channels, int64_t positions) {
  extern __shared__ float tile[];
  const int64_t position = int64_t{blockIdx.x} * kPositions + threadIdx.x;
  if (position >= positions) return;
  const int64_t base = int64_t{blockIdx.y} * channels * positions + position;
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    const float value = x[base + c * positions];
    tile[c * kPositions + threadIdx.x] = value;
    sum += value * value;
  }
  const float root = sqrtf(sum / channels + 1e-5f);
  for (int c = 0; c < channels; ++c) y[base + c * positions] = tile[c * kPositions + threadIdx.x] / root;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int channels = static_cast<int>(x.shape[1]);
  const int64_t positions = x.shape[2] * x.shape[3];
  const size_t shared = static_cast<size_t>(channels) * kPositions * sizeof(float);
  const auto refused =
      cudaFuncSetAttribute(Normalise, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  if (refused != cudaSuccess) return static_cast<int>(refused);
  const dim3 blocks(static_cast<unsigned>((positions + kPositions - 1) / kPositions),
                    static_cast<unsigned>(x.shape[0]));
  Normalise<<<blocks, kPositions, shared, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), channels, positions);
  return static_cast<int>(cudaGetLastError());
}
