// Product of two lower triangular matrices: the mirror of 1_14_triangular, one barrier for each step.
//
// Teaches: two buffers cost one barrier less. What differs from 1/14 in the algorithm is only where the zeros are: A
// has them to the right of a tile's last row and B above its first column, so k runs from the tile's first column to
// its last row, and the tiles without work lie above the diagonal. Transposing would make this 1/14, for three more
// kernels; other bounds cost nothing. What differs in the kernel is shared memory: while a step's operands
// are read from one buffer, the next ones go into the other, so that nobody has to wait until all have read. And a
// thread brings four neighbours at once, in 16 bytes where rows are aligned, which takes one address instead of four.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kTile = 128, kDepth = 8, kThreads = 256;
static_assert(kTile * kDepth == 4 * kThreads, "a thread brings four elements of A, and of B, for one step");

// Rows (or columns) of a thread's 8 x 8 results within the tile: four, and four more 64 further on. Then threads side
// by side read shared memory side by side.
__device__ int Place(int lane, int i) { return i / 4 * (kTile / 2) + lane * 4 + i % 4; }

// The first `left` of four neighbours, and zeros. `aligned`: all that are there can be had at once.
__device__ float4 Four(const float* at, int left, bool aligned) {
  if (aligned && left >= 4) return *reinterpret_cast<const float4*>(at);
  return {left > 0 ? at[0] : 0, left > 1 ? at[1] : 0, left > 2 ? at[2] : 0, left > 3 ? at[3] : 0};
}

__global__ void __launch_bounds__(kThreads, 2)
    Multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int tiles) {
  // Which tile: the furthest below the diagonal take longest and come first.
  int left = static_cast<int>(blockIdx.x), apart = tiles - 1;
  for (; left >= tiles - apart; --apart) left -= tiles - apart;
  const int column = left * kTile, row = (left + apart) * kTile;
  const int end = min(n, row + kTile);  // A has nothing right of its diagonal

  __shared__ __align__(16) float as[2][kDepth][kTile + 4], bs[2][kDepth][kTile];
  const int thread = static_cast<int>(threadIdx.x), across = thread % 16, down = thread / 16;
  // What this thread brings: from this row of A four of a step's columns, from that row of a step four columns of B.
  const int row_a = row + thread / 2, k_a = thread % 2 * 4, k_b = thread / 32, column_b = column + thread % 32 * 4;
  float4 next_a, next_b;
  const auto load = [&](int k) {
    next_a = Four(a + int64_t{row_a} * n + k + k_a, row_a < n ? end - k - k_a : 0, n % 4 == 0);
    next_b = Four(b + int64_t{k + k_b} * n + column_b, k + k_b < end ? n - column_b : 0, n % 4 == 0);
  };
  const auto keep = [&](int buffer) {
    as[buffer][k_a][thread / 2] = next_a.x;
    as[buffer][k_a + 1][thread / 2] = next_a.y;
    as[buffer][k_a + 2][thread / 2] = next_a.z;
    as[buffer][k_a + 3][thread / 2] = next_a.w;
    *reinterpret_cast<float4*>(&bs[buffer][k_b][thread % 32 * 4]) = next_b;
    __syncthreads();
  };

  float sum[8][8] = {};
  load(column);  // B has nothing above its diagonal
  keep(0);
  int buffer = 0;
  for (int k = column; k < end; k += kDepth) {
    load(k + kDepth);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      __align__(16) float x[8], y[8];
#pragma unroll
      for (int i = 0; i < 8; i += 4) {
        *reinterpret_cast<float4*>(x + i) = *reinterpret_cast<const float4*>(&as[buffer][d][Place(down, i)]);
        *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(&bs[buffer][d][Place(across, i)]);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += x[i] * y[j];
      }
    }
    buffer = 1 - buffer;
    keep(buffer);
  }

  // The tile, and zeros for the one that mirrors it above the diagonal.
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int r = row + Place(down, i), s = column + Place(across, j);
      if (r < n && s < n) c[int64_t{r} * n + s] = sum[i][j];
      const int above = column + Place(down, i), behind = row + Place(across, j);
      if (apart > 0 && above < n && behind < n) c[int64_t{above} * n + behind] = 0;
    }
  }
}

}  // namespace

int kb_forward(const kb_call* call) {
  const int n = static_cast<int>(call->inputs[0].shape[0]), tiles = (n + kTile - 1) / kTile;
  const int blocks = tiles * (tiles + 1) / 2;
  Multiply<<<blocks, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(call->inputs[0].data), static_cast<const float*>(call->inputs[1].data),
      static_cast<float*>(call->outputs[0].data), n, tiles);
  return static_cast<int>(cudaGetLastError());
}
