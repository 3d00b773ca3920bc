// Linear layer, GELU and softmax while the rows are still in the cache.
//
// Teaches: an epilogue over whole rows. GELU fits into any tile, but softmax needs all of a row before it can store one
// element. So a few dozen rows are multiplied with all tiles of the packed weights, and then the same thread finishes
// them in place: GELU and maximum, exponentials and sum, division. The output leaves for memory once; eager PyTorch
// stores three tensors of its size. (See 2_40_linear/packed.cpp for the product, 1_26_gelu/exact.cpp for GELU.)
#include <kernelbench/kernel.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16, kTileRows = 8;  // 8 x 3 accumulators of the 32 registers
#else
constexpr int kLanes = 8, kTileRows = 4;  // 4 x 3 accumulators of 16 registers
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
      for (int j = 0; j < kTileVectors; ++j)
        *reinterpret_cast<UnalignedVector*>(c + i * stride + j * kLanes) = sum[i][j];
    } else {
      std::memcpy(c + i * stride, sum[i], columns * sizeof(float));
    }
  }
}

// exp(x) for x <= 0, to about one unit in the last place; see 1_23_softmax/fused.cpp.
inline float Exp(float x) {
  constexpr float kRound = 12582912.0f;
  const float clamped = x > -87.0f ? x : -87.0f;
  const float shifted = clamped * 1.44269504f + kRound;
  const float r = clamped - (shifted - kRound) * 0.69314718f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return std::bit_cast<float>(std::bit_cast<int32_t>(p) + static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) << 23));
}

inline float Gelu(float x) {
  const float t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * std::fabs(x));
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 0.5f * p * t * Exp(-0.5f * x * x);
  return x > 0 ? x - x * tail : x * tail;
}

void SoftmaxOfGelu(float* row, int64_t n) {
  float max = -FLT_MAX, sum = 0;
#pragma omp simd reduction(max : max)
  for (int64_t i = 0; i < n; ++i) {
    row[i] = Gelu(row[i]);
    max = row[i] > max ? row[i] : max;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    row[i] = Exp(row[i] - max);
    sum += row[i];
  }
  const float factor = 1 / sum;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) row[i] *= factor;
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  const Shape shape = ShapeOf(call);
  return shape.tiles * (shape.depth + 1) * kTileColumns * sizeof(float) + alignof(Vector);
}

int kb_prepare(const kb_call* call) {
  const Shape shape = ShapeOf(call);
  const float* weight = Parameter(call, "linear.weight");
  const float* bias = Parameter(call, "linear.bias");
  if (weight == nullptr || bias == nullptr) return 1;
  float* to = Packed(call);
  for (int64_t tile = 0; tile < shape.tiles; ++tile) {
    for (int64_t k = -1; k < shape.depth; ++k) {
      for (int64_t column = tile * kTileColumns; column < (tile + 1) * kTileColumns; ++column) {
        *to++ = column >= shape.columns ? 0.0f : k < 0 ? bias[column] : weight[column * shape.depth + k];
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
  constexpr int64_t kBlockRows = 8 * kTileRows;  // so many rows stay in the cache while all tiles pass over them

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
    for (int64_t i = block; i < end; ++i) SoftmaxOfGelu(c + i * shape.columns, shape.columns);
  }
  return 0;
}
