// Mean squared error, added up by one atomic addition for each warp.
//
// Teaches: right and slow. 33 million additions to one address are done one after the other, by the part of the L2
// cache that holds it, while 132 multiprocessors wait. A sum for each block, in the workspace, needs none: see
// fused.cu.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void AddUp(const float* __restrict__ a, const float* __restrict__ b, double* __restrict__ total,
                             int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  float square = i < n ? (a[i] - b[i]) * (a[i] - b[i]) : 0;
  for (int step = 16; step > 0; step /= 2) square += __shfl_xor_sync(~0u, square, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, static_cast<double>(square));
}

static __global__ void Divide(const double* __restrict__ total, float* __restrict__ mean, int64_t n) {
  *mean = static_cast<float>(*total / static_cast<double>(n));
}

uint64_t kb_workspace_size(const kb_call*) { return sizeof(double); }

int kb_forward(const kb_call* call) {
  const kb_tensor &predictions = call->inputs[0], &targets = call->inputs[1];
  const int64_t n = predictions.shape[0] * predictions.shape[1];
  auto* total = static_cast<double*>(call->workspace);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  cudaMemsetAsync(total, 0, sizeof *total, stream);
  AddUp<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(static_cast<const float*>(predictions.data),
                                                                    static_cast<const float*>(targets.data), total, n);
  Divide<<<1, 1, 0, stream>>>(total, static_cast<float*>(call->outputs[0].data), n);
  return static_cast<int>(cudaGetLastError());
}
