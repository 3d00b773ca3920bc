// Suspicious: blocks that wait for each other. Right: a cooperative launch puts all of them on the device at once, and
// everyone adds up the same partial sums.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <algorithm>

constexpr int kThreads = 256, kMostBlocks = 4096;

static __global__ void Normalise(const float* x, float* y, int64_t n, double* partial) {
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, stride = int64_t{gridDim.x} * blockDim.x;
  double sum = 0;
  for (int64_t i = first; i < n; i += stride) sum += static_cast<double>(x[i]) * x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  __shared__ double warps[kThreads / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double of_block = 0;
    for (double of_warp : warps) of_block += of_warp;
    partial[blockIdx.x] = of_block;
  }
  cooperative_groups::this_grid().sync();
  double all = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) all += partial[block];
  const float norm = static_cast<float>(sqrt(all));
  for (int64_t i = first; i < n; i += stride) y[i] = x[i] / norm;
}

static int Blocks() {
  int each = 0, multiprocessors = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, Normalise, kThreads, 0);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  return std::min(each * multiprocessors, kMostBlocks);
}

KB_EXPORT uint64_t kb_workspace_size(const kb_call*) { return kMostBlocks * sizeof(double); }

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  auto* partial = static_cast<double*>(call->workspace);
  int64_t n = Count(call->inputs[0]);
  static const int blocks = Blocks();
  void* arguments[] = {&x, &y, &n, &partial};
  return static_cast<int>(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&Normalise), dim3(blocks),
                                                      dim3(kThreads), arguments, 0,
                                                      static_cast<cudaStream_t>(call->stream)));
}
