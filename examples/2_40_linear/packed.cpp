// Linear layer with packed weights; scaling and residual disappear into them.
//
// Teaches: kb_prepare. Since SCALE * z + z = (SCALE + 1) * z, and z = x W^T + b is linear, the factor can be multiplied
// into W and b once for each set of weights. The same step lays W out in the order in which the kernel reads it. What
// remains for each call is one matrix product whose result is stored once. (See 1_1_matmul/tiled.cpp for the kernel.)
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cstring>

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16, kTileRows = 8;  // 8 x 3 accumulators of the 32 registers
#else
constexpr int kLanes = 8, kTileRows = 4;   // 4 x 3 accumulators of 16 registers
#endif
constexpr int kTileVectors = 3;
constexpr int kTileColumns = kTileVectors * kLanes;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef float UnalignedVector __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float))));

struct Shape {
  int64_t rows, depth, columns, tiles;
};

Shape ShapeOf(const kb_call* call) {
  const int64_t columns = call->outputs[0].shape[1];
  return {call->inputs[0].shape[0], call->inputs[0].shape[1], columns, (columns + kTileColumns - 1) / kTileColumns};
}

const float* Parameter(const kb_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_parameters; ++i) {
    if (std::strcmp(call->parameters[i].name, name) == 0) return static_cast<float*>(call->parameters[i].tensor.data);
  }
  return nullptr;
}

// The workspace: for each tile of columns, the bias and then `depth` rows of weights, all kTileColumns wide.
float* Packed(const kb_call* call) {
  const uintptr_t mask = alignof(Vector) - 1;
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(call->workspace) + mask) & ~mask);
}

// c = bias + x w for kRows rows, of which `columns` columns exist.
template <int kRows>
void Tile(const float* x, const float* packed, int64_t depth, float* c, int64_t stride, int64_t columns) {
  const Vector* row = reinterpret_cast<const Vector*>(packed);
  Vector sum[kRows][kTileVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kTileVectors; ++j) sum[i][j] = row[j];
  }
  for (int64_t k = 0; k < depth; ++k) {
    row += kTileVectors;
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] += x[i * depth + k] * row[j];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    if (columns == kTileColumns) {
      for (int j = 0; j < kTileVectors; ++j) *reinterpret_cast<UnalignedVector*>(c + i * stride + j * kLanes) = sum[i][j];
    } else {
      std::memcpy(c + i * stride, sum[i], columns * sizeof(float));
    }
  }
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  const Shape shape = ShapeOf(call);
  return shape.tiles * (shape.depth + 1) * kTileColumns * sizeof(float) + alignof(Vector);
}

int kb_prepare(const kb_call* call) {
  const Shape shape = ShapeOf(call);
  const float* weight = Parameter(call, "matmul.weight");
  const float* bias = Parameter(call, "matmul.bias");
  if (weight == nullptr || bias == nullptr) return 1;
  const float factor = static_cast<float>(call->init[2].real + 1.0);
  float* to = Packed(call);
  for (int64_t tile = 0; tile < shape.tiles; ++tile) {
    for (int64_t k = -1; k < shape.depth; ++k) {
      for (int64_t column = tile * kTileColumns; column < (tile + 1) * kTileColumns; ++column) {
        const bool exists = column < shape.columns;
        *to++ = !exists ? 0.0f : factor * (k < 0 ? bias[column] : weight[column * shape.depth + k]);
      }
    }
  }
  return 0;
}

int kb_forward(const kb_call* call) {
  const Shape shape = ShapeOf(call);
  const float* x = static_cast<const float*>(call->inputs[0].data);
  const float* packed = Packed(call);
  float* c = static_cast<float*>(call->outputs[0].data);
  const int64_t whole = shape.rows / kTileRows * kTileRows;
  constexpr int64_t kBlockRows = 8 * kTileRows;  // so many rows of x stay in the cache while all tiles pass over them

#pragma omp parallel for num_threads(call->num_threads) schedule(static)
  for (int64_t block = 0; block < shape.rows; block += kBlockRows) {
    const int64_t end = std::min(block + kBlockRows, shape.rows);
    for (int64_t tile = 0; tile < shape.tiles; ++tile) {
      const int64_t j = tile * kTileColumns, columns = std::min<int64_t>(kTileColumns, shape.columns - j);
      const float* weights = packed + tile * (shape.depth + 1) * kTileColumns;
      for (int64_t i = block; i < std::min(end, whole); i += kTileRows) {
        Tile<kTileRows>(x + i * shape.depth, weights, shape.depth, c + i * shape.columns + j, shape.columns, columns);
      }
      for (int64_t i = std::max(block, whole); i < end; ++i) {
        Tile<1>(x + i * shape.depth, weights, shape.depth, c + i * shape.columns + j, shape.columns, columns);
      }
    }
  }
  return 0;
}
