// Matrix product, one thread for each element of the result.
//
// Teaches: right and slow. For each multiplication two numbers are fetched, from the L1 cache at best, so the load
// units are busy and the multipliers wait. A tile that many threads share, and several results for each thread, would
// make a fetched number serve many multiplications: see 1_14_triangular/tiles.cu.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                int64_t n) {
  const int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

int kb_forward(const kb_call* call) {
  const int64_t n = call->inputs[0].shape[0];
  const unsigned blocks = static_cast<unsigned>((n + 15) / 16);
  Multiply<<<dim3(blocks, blocks), dim3(16, 16), 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(call->inputs[0].data), static_cast<const float*>(call->inputs[1].data),
      static_cast<float*>(call->outputs[0].data), n);
  return static_cast<int>(cudaGetLastError());
}
