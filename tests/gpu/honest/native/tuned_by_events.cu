// Suspicious: creates events and takes times between them. Right: it chooses a block size at its first call; both sizes
// compute the same.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <cstdint>

namespace {

__global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}

void Launch(const float* x, float* y, int64_t n, int block, cudaStream_t stream) {
  Relu<<<static_cast<unsigned>((n + block - 1) / block), block, 0, stream>>>(x, y, n);
}

float Measure(const float* x, float* y, int64_t n, int block, cudaStream_t stream) {
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  Launch(x, y, n, block, stream);
  cudaEventRecord(start, stream);
  Launch(x, y, n, block, stream);
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  float elapsed_time = 0;
  cudaEventElapsedTime(&elapsed_time, start, end);
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  return elapsed_time;
}

}  // namespace

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const int block = Measure(x, y, n, 256, stream) < Measure(x, y, n, 512, stream) ? 256 : 512;
  Launch(x, y, n, block, stream);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
