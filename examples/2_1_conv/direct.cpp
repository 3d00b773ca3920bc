// Convolution, ReLU and bias in one kernel.
//
// Teaches: fusing what follows into the kernel that produces it, and choosing which loop to vectorise. The output is
// written once, already rectified and shifted; eager PyTorch writes it three times. Neighbouring lanes of a vector hold
// neighbouring output channels, not pixels: the kernel then needs no gathers and no edge cases along a row, only weights
// with the output channel innermost, which kb_prepare arranges (and fills up with zeros). A tile is a few pixels of one
// row; it stays in registers while all input channels are added up.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cstring>

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16, kTilePixels = 6, kTileVectors = 4;  // 24 accumulators of the 32 registers
#else
constexpr int kLanes = 8, kTilePixels = 6, kTileVectors = 2;   // 12 accumulators of 16 registers
#endif
constexpr int kTileChannels = kTileVectors * kLanes;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

struct Shape {
  int64_t batch, in_channels, in_height, in_width, out_channels, out_height, out_width, kernel, tiles;
};

Shape ShapeOf(const kb_call* call) {
  const int64_t* in = call->inputs[0].shape;
  const int64_t* out = call->outputs[0].shape;
  return {in[0], in[1], in[2], in[3], out[1], out[2], out[3], call->init[2].integer,
          (out[1] + kTileChannels - 1) / kTileChannels};
}

const float* Parameter(const kb_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_parameters; ++i) {
    if (std::strcmp(call->parameters[i].name, name) == 0) return static_cast<float*>(call->parameters[i].tensor.data);
  }
  return nullptr;
}

// Vectors of one tile of output channels: the convolution's bias, the bias after the ReLU, then one for each tap.
int64_t PackedRows(const Shape& s) { return 2 + s.in_channels * s.kernel * s.kernel; }

float* Packed(const kb_call* call) {
  const uintptr_t mask = alignof(Vector) - 1;
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(call->workspace) + mask) & ~mask);
}

// kPixels neighbouring pixels of all channels of one tile. `x` is the window's upper left corner in the first channel.
template <int kPixels>
void Tile(const Shape& s, const float* x, const float* packed, float* y, int64_t channels) {
  const Vector* before = reinterpret_cast<const Vector*>(packed);
  const Vector* after = before + kTileVectors;
  const Vector* tap = after + kTileVectors;
  Vector sum[kPixels][kTileVectors];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kTileVectors; ++v) sum[p][v] = before[v];
  }
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t ky = 0; ky < s.kernel; ++ky) {
      const float* row = x + (c * s.in_height + ky) * s.in_width;
      for (int64_t kx = 0; kx < s.kernel; ++kx, tap += kTileVectors) {
        for (int p = 0; p < kPixels; ++p) {
          for (int v = 0; v < kTileVectors; ++v) sum[p][v] += row[p + kx] * tap[v];
        }
      }
    }
  }
  const Vector zero = {};
  alignas(64) float result[kPixels][kTileChannels];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kTileVectors; ++v) {
      reinterpret_cast<Vector*>(result[p])[v] = (sum[p][v] > zero ? sum[p][v] : zero) + after[v];
    }
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int p = 0; p < kPixels; ++p) y[c * s.out_height * s.out_width + p] = result[p][c];
  }
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  const Shape s = ShapeOf(call);
  return s.tiles * PackedRows(s) * kTileChannels * sizeof(float) + alignof(Vector);
}

int kb_prepare(const kb_call* call) {
  const Shape s = ShapeOf(call);
  const float* weight = Parameter(call, "conv.weight");
  const float* before = Parameter(call, "conv.bias");
  const float* after = Parameter(call, "bias");
  if (weight == nullptr || before == nullptr || after == nullptr) return 1;
  const int64_t taps = PackedRows(s) - 2;
  float* to = Packed(call);
  for (int64_t tile = 0; tile < s.tiles; ++tile) {
    for (int64_t row = -2; row < taps; ++row) {
      for (int64_t o = tile * kTileChannels; o < (tile + 1) * kTileChannels; ++o) {
        const bool exists = o < s.out_channels;
        *to++ = !exists ? 0.0f : row == -2 ? before[o] : row == -1 ? after[o] : weight[o * taps + row];
      }
    }
  }
  return 0;
}

int kb_forward(const kb_call* call) {
  const Shape s = ShapeOf(call);
  const float* input = static_cast<const float*>(call->inputs[0].data);
  float* output = static_cast<float*>(call->outputs[0].data);

#pragma omp parallel for collapse(2) num_threads(call->num_threads) schedule(static)
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t h = 0; h < s.out_height; ++h) {
      for (int64_t tile = 0; tile < s.tiles; ++tile) {
        const int64_t first = tile * kTileChannels, channels = std::min<int64_t>(kTileChannels, s.out_channels - first);
        const float* packed = Packed(call) + first * PackedRows(s);
        const float* x = input + (n * s.in_channels * s.in_height + h) * s.in_width;
        float* y = output + ((n * s.out_channels + first) * s.out_height + h) * s.out_width;
        int64_t w = 0;
        for (; w + kTilePixels <= s.out_width; w += kTilePixels) Tile<kTilePixels>(s, x + w, packed, y + w, channels);
        for (; w < s.out_width; ++w) Tile<1>(s, x + w, packed, y + w, channels);
      }
    }
  }
  return 0;
}
