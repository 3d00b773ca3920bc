// Takes four terms of the series for the exponential, without subtracting the largest logit. The series is too short
// for the inputs as drawn, and where they are scaled it is far off, or no longer positive, so that nothing is finite.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __device__ float Exp(float x) { return 1 + x * (1 + x * (0.5f + x / 6)); }

static __global__ void Softmax(const float* x, float* y, int64_t columns) {
  const float* row = x + blockIdx.x * columns;
  float* out = y + blockIdx.x * columns;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += Exp(row[i]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  __shared__ float warps[32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  float all = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) all += warps[w];
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) out[i] = Exp(row[i]) / all;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  Softmax<<<static_cast<unsigned>(x.shape[0]), 512, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), x.shape[1]);
  return static_cast<int>(cudaGetLastError());
}
