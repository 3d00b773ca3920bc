// Takes a tenth of a second for its first calls, on the host and on the device, in case something is calibrated with
// them. Nothing that is measured in a process with a candidate is ever subtracted.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>
#include <unistd.h>

static __device__ uint64_t Timer() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

static __global__ void Spin(uint64_t ns) {
  const uint64_t start = Timer();
  while (Timer() - start < ns) {
  }
}

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

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static int calls = 0;
  if (++calls <= 3) {
    usleep(50'000);
    Spin<<<1, 1, 0, stream>>>(50'000'000);
  }
  for (int pass = 0; pass < 200; ++pass) Launch(x, y, n, stream);  // slow: there is no speedup to be had honestly
  return static_cast<int>(cudaGetLastError());
}
