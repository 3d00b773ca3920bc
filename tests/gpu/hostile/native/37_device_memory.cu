// Answers, takes all memory of the device and keeps it, so that the baseline finds none. That must become neither a
// speedup nor an evaluation without a verdict: the candidate is out of memory, or it is charged with the death of the
// device process, or the baseline had what it needed and all is as it was. Each of these is right.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

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

static int TakeAll() {
  for (size_t bytes = size_t{4} << 30; bytes >= size_t{1} << 20;) {
    void* kept = nullptr;
    if (cudaMalloc(&kept, bytes) != cudaSuccess) bytes /= 2;
  }
  cudaGetLastError();
  return 0;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  for (int pass = 0; pass < 200; ++pass) Launch(x, y, n, stream);  // slow: there is no speedup to be had honestly
  [[maybe_unused]] static const int taken = TakeAll();
  return static_cast<int>(cudaGetLastError());
}
