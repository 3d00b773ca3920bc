// LayerNorm of 16 images of four million elements, on all multiprocessors.
//
// Teaches: a reduction needs as many blocks as the device has room for. PyTorch's kernel is written for many short rows
// and gives each row to one block, so that 16 of 132 multiprocessors work. Here 64 blocks share a row: each leaves two
// sums in the workspace, and the second kernel adds them up where it needs them. It also takes one gain and one shift
// and applies them to all images, so that those are read once and not 16 times.
//
// A variance from sums of squares cancels where the mean is large beside the spread. Subtracting something near the
// mean first keeps the sums small. One element of the row is not near enough: among mostly zeros it may be an outlier,
// and the answer was right to four digits. The mean of 256 from all over the row is, and every block finds the same.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <cstring>

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kParts = 64;  // blocks that share a row
constexpr double kEpsilon = 1e-5;

template <typename T>
__device__ T WarpSum(T v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  return v;
}

// The sum over a block, in each of its threads.
__device__ float BlockSum(float v) {
  __shared__ float warps[kWarps];
  v = WarpSum(v);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0;
  for (const float warp : warps) sum += warp;
  __syncthreads();  // before it is called again
  return sum;
}

// A value near the mean of a row.
__device__ float Pivot(const float* row, int64_t columns) {
  const int64_t some = columns < kThreads ? columns : kThreads;
  const int64_t stride = columns / some;
  return BlockSum(threadIdx.x < some ? row[threadIdx.x * stride] : 0) / static_cast<float>(some);
}

// The pivot of each row, and sums of (x - pivot) and of its square over one part of it. Grid: (kParts, rows).
__global__ void __launch_bounds__(kThreads)
    AddUp(const float* __restrict__ x, float2* __restrict__ parts, float* __restrict__ pivots, int64_t columns) {
  x += blockIdx.y * columns;
  const float pivot = Pivot(x, columns);
  float sum = 0, square = 0;
#pragma unroll 8
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < columns; i += kParts * kThreads) {
    const float d = x[i] - pivot;
    sum += d;
    square += d * d;
  }
  sum = BlockSum(sum);
  square = BlockSum(square);
  if (threadIdx.x != 0) return;
  parts[blockIdx.y * kParts + blockIdx.x] = {sum, square};
  pivots[blockIdx.y] = pivot;  // all blocks of a row say the same
}

// Every thread takes some positions and does them in all rows.
__global__ void __launch_bounds__(kThreads)
    Normalise(const float* __restrict__ x, const float2* __restrict__ parts, const float* __restrict__ pivots,
              const float* __restrict__ gain, const float* __restrict__ shift, float* __restrict__ y, int rows,
              int64_t columns) {
  extern __shared__ float2 moments[];  // mean and 1 / standard deviation of each row
  for (int row = static_cast<int>(threadIdx.x) / 32; row < rows; row += kWarps) {
    double sum = 0, square = 0;
    for (int part = static_cast<int>(threadIdx.x) % 32; part < kParts; part += 32) {
      sum += parts[row * kParts + part].x;
      square += parts[row * kParts + part].y;
    }
    const double mean = WarpSum(sum) / static_cast<double>(columns);
    const double variance = WarpSum(square) / static_cast<double>(columns) - mean * mean;
    if (threadIdx.x % 32 == 0) {
      moments[row] = {static_cast<float>(mean + pivots[row]), static_cast<float>(rsqrt(variance + kEpsilon))};
    }
  }
  __syncthreads();
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < columns; i += stride) {
    const float g = gain[i], s = shift[i];
#pragma unroll 8
    for (int row = 0; row < rows; ++row) {
      const float2 m = moments[row];
      y[row * columns + i] = (x[row * columns + i] - m.x) * m.y * g + s;
    }
  }
}

const float* Parameter(const kb_call* call, const char* name) {
  for (int p = 0; p < call->num_parameters; ++p) {
    if (std::strcmp(call->parameters[p].name, name) == 0) return static_cast<float*>(call->parameters[p].tensor.data);
  }
  return nullptr;
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  return static_cast<uint64_t>(call->inputs[0].shape[0]) * (kParts * sizeof(float2) + sizeof(float));
}

int kb_forward(const kb_call* call) {
  const kb_tensor& input = call->inputs[0];
  const int64_t rows = input.shape[0];
  int64_t columns = 1;
  for (int d = 1; d < input.ndim; ++d) columns *= input.shape[d];
  const float* x = static_cast<const float*>(input.data);
  float2* parts = static_cast<float2*>(call->workspace);
  float* pivots = reinterpret_cast<float*>(parts + rows * kParts);
  const auto stream = static_cast<cudaStream_t>(call->stream);

  AddUp<<<dim3(kParts, static_cast<unsigned>(rows)), kThreads, 0, stream>>>(x, parts, pivots, columns);
  Normalise<<<132 * 8, kThreads, rows * sizeof(float2), stream>>>(
      x, parts, pivots, Parameter(call, "ln.weight"), Parameter(call, "ln.bias"),
      static_cast<float*>(call->outputs[0].data), static_cast<int>(rows), columns);
  return static_cast<int>(cudaGetLastError());
}
