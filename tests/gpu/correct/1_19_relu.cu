// 1/19 ReLU: four elements a thread, so that every access is 16 bytes wide.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __device__ float Of(float x) { return x > 0 || x != x ? x : 0; }  // NaN stays NaN

static __global__ void Relu(const float* __restrict__ x, float* __restrict__ y, size_t n) {
  const size_t quads = n / 4, stride = size_t{gridDim.x} * blockDim.x;
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (size_t i = first; i < quads; i += stride) {
    float4 v = reinterpret_cast<const float4*>(x)[i];
    v.x = Of(v.x);
    v.y = Of(v.y);
    v.z = Of(v.z);
    v.w = Of(v.w);
    reinterpret_cast<float4*>(y)[i] = v;
  }
  for (size_t i = quads * 4 + first; i < n; i += stride) y[i] = Of(x[i]);
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  size_t n = 1;
  for (int d = 0; d < x.ndim; ++d) n *= static_cast<size_t>(x.shape[d]);
  Relu<<<132 * 8, 256, 0, static_cast<cudaStream_t>(call->stream)>>>(static_cast<const float*>(x.data),
                                                                     static_cast<float*>(call->outputs[0].data), n);
  return static_cast<int>(cudaGetLastError());
}
