// Matrix product with register tiles and packed operands.
//
// Teaches: how fast matrix products are built. The innermost kernel keeps a tile of C in registers and, for each k, adds
// the outer product of a column of A and a row of B: every number that is loaded is used many times. Packing copies A and
// B into the order in which the kernel reads them, so that all loads are contiguous; blocking over k and over rows keeps
// the packed pieces in the caches. Edges are packed with zeros, so the kernel itself knows no edges.
#include <kernelbench/kernel.h>

#include <algorithm>

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16, kTileRows = 8;  // 8 x 3 accumulators of the 32 registers
#else
constexpr int kLanes = 8, kTileRows = 4;   // 4 x 3 accumulators of 16 registers
#endif
constexpr int kTileVectors = 3;
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int64_t kBlockDepth = 256;
constexpr int64_t kBlockRows = 8 * kTileRows;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef float UnalignedVector __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float))));

int64_t TilesAcross(int64_t columns) { return (columns + kTileColumns - 1) / kTileColumns; }

// packed[k][i] = a[i][k] for `rows` rows, zeros below them.
void PackRows(const float* a, int64_t stride, int64_t rows, int64_t depth, float* packed) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < kTileRows; ++i) packed[k * kTileRows + i] = i < rows ? a[i * stride + k] : 0.0f;
  }
}

// packed[k][j] = b[k][j] for `columns` columns, zeros to the right of them.
void PackColumns(const float* b, int64_t stride, int64_t columns, int64_t depth, float* packed) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < kTileColumns; ++j) packed[k * kTileColumns + j] = j < columns ? b[k * stride + j] : 0.0f;
  }
}

// One tile: c = a b, or c += a b, where only the first `rows` and `columns` of the tile exist.
void Tile(const float* a, const float* b, int64_t depth, float* c, int64_t stride, int64_t rows, int64_t columns, bool add) {
  Vector sum[kTileRows][kTileVectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const Vector* row = reinterpret_cast<const Vector*>(b + k * kTileColumns);
    for (int i = 0; i < kTileRows; ++i) {
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] += a[k * kTileRows + i] * row[j];
    }
  }
  if (rows == kTileRows && columns == kTileColumns) {
    for (int i = 0; i < kTileRows; ++i) {
      for (int j = 0; j < kTileVectors; ++j) {
        UnalignedVector* to = reinterpret_cast<UnalignedVector*>(c + i * stride + j * kLanes);
        *to = add ? *to + sum[i][j] : sum[i][j];
      }
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const float value = sum[i][j / kLanes][j % kLanes];
      c[i * stride + j] = add ? c[i * stride + j] + value : value;
    }
  }
}

}  // namespace

// Room for kBlockDepth rows of B, packed.
uint64_t kb_workspace_size(const kb_call* call) {
  return TilesAcross(call->inputs[1].shape[1]) * kTileColumns * kBlockDepth * sizeof(float) + alignof(Vector);
}

int kb_forward(const kb_call* call) {
  const float* a = static_cast<const float*>(call->inputs[0].data);
  const float* b = static_cast<const float*>(call->inputs[1].data);
  float* c = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], depth = call->inputs[0].shape[1], columns = call->inputs[1].shape[1];
  const int64_t tiles = TilesAcross(columns);
  const uintptr_t mask = alignof(Vector) - 1;
  float* packed_b = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(call->workspace) + mask) & ~mask);

#pragma omp parallel num_threads(call->num_threads)
  for (int64_t k = 0; k < depth; k += kBlockDepth) {
    const int64_t block_depth = std::min(kBlockDepth, depth - k);
#pragma omp for schedule(static)
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t j = tile * kTileColumns;
      PackColumns(b + k * columns + j, columns, std::min<int64_t>(kTileColumns, columns - j), block_depth,
                  packed_b + j * block_depth);
    }
#pragma omp for schedule(dynamic)
    for (int64_t block = 0; block < rows; block += kBlockRows) {
      alignas(64) float packed_a[kBlockRows * kBlockDepth];
      const int64_t end = std::min(block + kBlockRows, rows);
      for (int64_t i = block; i < end; i += kTileRows) {
        PackRows(a + i * depth + k, depth, std::min<int64_t>(kTileRows, end - i), block_depth,
                 packed_a + (i - block) * block_depth);
      }
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t j = tile * kTileColumns;
        for (int64_t i = block; i < end; i += kTileRows) {
          Tile(packed_a + (i - block) * block_depth, packed_b + j * block_depth, block_depth, c + i * columns + j, columns,
               std::min<int64_t>(kTileRows, end - i), std::min<int64_t>(kTileColumns, columns - j), k > 0);
        }
      }
    }
  }
  return 0;
}
