// Suspicious: the first thing that touches the input is a copy, by an engine that waits for no kernel of another
// process. Right: it is made on the call's stream, so it follows what put the input there.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Relu(float* y, int64_t n) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = y[i] <= 0 ? 0.0f : y[i];
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  auto* y = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int d = 0; d < x.ndim; ++d) n *= x.shape[d];
  const auto stream = static_cast<cudaStream_t>(call->stream);
  cudaMemcpyAsync(y, x.data, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  Relu<<<1024, 256, 0, stream>>>(y, n);
  return static_cast<int>(cudaGetLastError());
}
