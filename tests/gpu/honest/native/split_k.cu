// Suspicious: sums of parts of k lie in the workspace, and the answer differs from the reference's in most bits. Right:
// the second kernel adds up all parts, which the first has written at this call.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

constexpr int kSide = 16, kParts = 4;

static __global__ void Part(const float* a, const float* b, float* parts, int rows, int inner, int columns) {
  __shared__ float tile_a[kSide][kSide], tile_b[kSide][kSide];
  const int row = blockIdx.y * kSide + threadIdx.y, column = blockIdx.x * kSide + threadIdx.x;
  const int length = (inner + kParts - 1) / kParts, first = blockIdx.z * length, end = min(inner, first + length);
  float sum = 0;
  for (int k = first; k < end; k += kSide) {
    const int ka = k + threadIdx.x, kb = k + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < rows && ka < end ? a[row * inner + ka] : 0;
    tile_b[threadIdx.y][threadIdx.x] = column < columns && kb < end ? b[kb * columns + column] : 0;
    __syncthreads();
    for (int i = 0; i < kSide; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < columns) parts[(int64_t{blockIdx.z} * rows + row) * columns + column] = sum;
}

static __global__ void Join(const float* parts, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int part = 0; part < kParts; ++part) sum += parts[int64_t{part} * n + i];
  c[i] = sum;
}

KB_EXPORT uint64_t kb_workspace_size(const kb_call* call) {
  return kParts * sizeof(float) * call->inputs[0].shape[0] * call->inputs[1].shape[1];
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const int rows = static_cast<int>(call->inputs[0].shape[0]), inner = static_cast<int>(call->inputs[0].shape[1]);
  const int columns = static_cast<int>(call->inputs[1].shape[1]), n = rows * columns;
  const auto stream = static_cast<cudaStream_t>(call->stream);
  auto* parts = static_cast<float*>(call->workspace);
  const dim3 grid((columns + kSide - 1) / kSide, (rows + kSide - 1) / kSide, kParts);
  Part<<<grid, dim3(kSide, kSide), 0, stream>>>(static_cast<const float*>(call->inputs[0].data),
                                                static_cast<const float*>(call->inputs[1].data), parts, rows, inner,
                                                columns);
  Join<<<(n + 255) / 256, 256, 0, stream>>>(parts, static_cast<float*>(call->outputs[0].data), n);
  return static_cast<int>(cudaGetLastError());
}
