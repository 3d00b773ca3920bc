// Prints a megabyte from the device at every call. Output is read all the time and only its ends are kept; who prints
// pays for it, and may run out of time.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <cstdio>

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0 ? 0.0f : x[i];
}

static void Launch(const float* x, float* y, int64_t n, cudaStream_t stream) {
  Relu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

static __global__ void Flood() { printf("flood flood flood flood flood flood flood flood %u\n", threadIdx.x); }

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  Flood<<<80, 256, 0, stream>>>();
  Launch(x, y, n, stream);
  return static_cast<int>(cudaGetLastError());
}
