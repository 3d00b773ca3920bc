// Product of two upper triangular matrices, only where there is something to multiply.
//
// Teaches: structure saves more than tuning. In a tile of the result, A is 0 to the left of the tile's first row and B
// is 0 below its last column, so k runs between those only, and below the diagonal there is nothing at all: a sixth of
// the multiplications is left. The tile itself is plain: 128 x 128 results in a block of 256 threads, 8 x 8 of them in
// the registers of each, operands through shared memory, the next ones loaded while this thread multiplies. Tiles far
// from the diagonal take longest and come first, so that no long one is left at the end.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

namespace {

constexpr int kTile = 128, kDepth = 8, kThreads = 256;
constexpr int kLoads = kTile * kDepth / kThreads;  // elements of A, and of B, that a thread brings for one step

// Rows (or columns) of a thread's 8 x 8 results within the tile: four, and four more 64 further on. Then threads side
// by side read shared memory side by side.
__device__ int Place(int lane, int i) { return i / 4 * (kTile / 2) + lane * 4 + i % 4; }

__global__ void __launch_bounds__(kThreads, 2)
    Multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int tiles) {
  // Which tile: those `apart` from the diagonal come after all that are further away.
  int left = static_cast<int>(blockIdx.x), apart = tiles - 1;
  for (; left >= tiles - apart; --apart) left -= tiles - apart;
  const int row = left * kTile, column = (left + apart) * kTile;
  const int end = min(n, column + kTile);  // B has nothing below its diagonal

  __shared__ __align__(16) float as[kDepth][kTile + 4], bs[kDepth][kTile];
  const int thread = static_cast<int>(threadIdx.x), across = thread % 16, down = thread / 16;
  float next_a[kLoads], next_b[kLoads], sum[8][8] = {};
  const auto load = [&](int k) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int ra = row + thread / kDepth + i * (kThreads / kDepth), ka = k + thread % kDepth;
      next_a[i] = ra < n && ka < end ? a[int64_t{ra} * n + ka] : 0;
      const int kb = k + thread / kTile + i * (kThreads / kTile), cb = column + thread % kTile;
      next_b[i] = kb < end && cb < n ? b[int64_t{kb} * n + cb] : 0;
    }
  };

  load(row);  // A has nothing left of its diagonal
  for (int k = row; k < end; k += kDepth) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      as[thread % kDepth][thread / kDepth + i * (kThreads / kDepth)] = next_a[i];
      bs[thread / kTile + i * (kThreads / kTile)][thread % kTile] = next_b[i];
    }
    __syncthreads();
    load(k + kDepth);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      __align__(16) float x[8], y[8];
#pragma unroll
      for (int i = 0; i < 8; i += 4) {
        *reinterpret_cast<float4*>(x + i) = *reinterpret_cast<const float4*>(&as[d][Place(down, i)]);
        *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(&bs[d][Place(across, i)]);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += x[i] * y[j];
      }
    }
    __syncthreads();
  }

  // The tile, and zeros for the one that mirrors it below the diagonal.
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int r = row + Place(down, i), s = column + Place(across, j);
      if (r < n && s < n) c[int64_t{r} * n + s] = sum[i][j];
      const int below = column + Place(down, i), before = row + Place(across, j);
      if (apart > 0 && below < n && before < n) c[int64_t{below} * n + before] = 0;
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
