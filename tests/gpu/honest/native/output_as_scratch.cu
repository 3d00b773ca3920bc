// Suspicious: writes something else into the output first. Right: squares lie there until the answer replaces them.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Square(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}

static __global__ void Normalise(const float* x, float* y, int64_t channels, int64_t positions) {
  const int64_t position = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (position >= positions) return;
  const int64_t base = blockIdx.y * channels * positions + position;
  float sum = 0;
  for (int64_t c = 0; c < channels; ++c) sum += y[base + c * positions];
  const float root = sqrtf(sum / static_cast<float>(channels) + 1e-5f);
  for (int64_t c = 0; c < channels; ++c) y[base + c * positions] = x[base + c * positions] / root;
}

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  const int64_t* shape = call->inputs[0].shape;
  const int64_t positions = shape[2] * shape[3];
  Square<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  const dim3 blocks(static_cast<unsigned>((positions + 255) / 256), static_cast<unsigned>(shape[0]));
  Normalise<<<blocks, 256, 0, stream>>>(x, y, shape[1], positions);
  return static_cast<int>(cudaGetLastError());
}
