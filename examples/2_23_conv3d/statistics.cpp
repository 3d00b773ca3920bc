// Convolution, group normalisation and mean without storing what the convolution computes.
//
// Teaches: asking what of a large tensor is needed. The mean over a sample of its normalised channels depends only on
// each channel's sum and sum of squares. So a few pixels of all channels stay in registers until they are added to
// those sums, and then they are forgotten; eager PyTorch writes the convolution's output, reads it, writes it
// normalised and reads it again. Lanes hold neighbouring output channels, as in 2_1_conv/direct.cpp. Sums of a row are
// fp32, all others fp64.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

constexpr int kLanes = 8, kTileVectors = 3, kTilePixels = 4;  // 12 accumulators, and 24 channels fill three vectors
constexpr int kTileChannels = kTileVectors * kLanes;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

struct Shape {
  int64_t batch, in_channels, in[3], out_channels, out[3], kernel, groups, tiles;
};

Shape ShapeOf(const kb_call* call) {
  const int64_t* x = call->inputs[0].shape;
  const int64_t out_channels = call->init[1].integer, kernel = call->init[2].integer, cut = kernel - 1;
  Shape s = {.batch = x[0], .in_channels = x[1], .out_channels = out_channels, .kernel = kernel};
  for (int i = 0; i < 3; ++i) {
    s.in[i] = x[2 + i];
    s.out[i] = x[2 + i] - cut;
  }
  s.groups = call->init[3].integer;
  s.tiles = (out_channels + kTileChannels - 1) / kTileChannels;
  return s;
}

const float* Parameter(const kb_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_parameters; ++i) {
    if (std::strcmp(call->parameters[i].name, name) == 0) return static_cast<float*>(call->parameters[i].tensor.data);
  }
  return nullptr;
}

int64_t Taps(const Shape& s) { return s.in_channels * s.kernel * s.kernel * s.kernel; }

// The workspace: for each tile of output channels its bias and its taps, kTileChannels wide; then, for each sample and
// each slice of the output, the sums and the sums of squares of all channels.
float* Packed(const kb_call* call) {
  const uintptr_t mask = alignof(Vector) - 1;
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(call->workspace) + mask) & ~mask);
}
double* Sums(const kb_call* call, const Shape& s) {
  return reinterpret_cast<double*>(Packed(call) + s.tiles * (Taps(s) + 1) * kTileChannels);
}
int64_t SumsOfSlice(const Shape& s) { return 2 * s.tiles * kTileChannels; }

struct RowSums {
  Vector sum[kTileVectors] = {}, square[kTileVectors] = {};
};

// Adds kPixels neighbouring pixels of one tile of channels. `x` is the window's first corner in the first channel.
template <int kPixels>
void Tile(const Shape& s, const float* x, const float* packed, RowSums& sums) {
  const Vector* tap = reinterpret_cast<const Vector*>(packed);
  Vector z[kPixels][kTileVectors];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kTileVectors; ++v) z[p][v] = tap[v];
  }
  tap += kTileVectors;
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t kz = 0; kz < s.kernel; ++kz) {
      for (int64_t ky = 0; ky < s.kernel; ++ky) {
        const float* row = x + ((c * s.in[0] + kz) * s.in[1] + ky) * s.in[2];
        for (int64_t kx = 0; kx < s.kernel; ++kx, tap += kTileVectors) {
          for (int p = 0; p < kPixels; ++p) {
            for (int v = 0; v < kTileVectors; ++v) z[p][v] += row[p + kx] * tap[v];
          }
        }
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kTileVectors; ++v) {
      sums.sum[v] += z[p][v];
      sums.square[v] += z[p][v] * z[p][v];
    }
  }
}

// One slice of one sample; `x` is the first corner of the slice's windows.
void Slice(const Shape& s, const float* x, const float* packed, double* sums) {
  std::fill_n(sums, SumsOfSlice(s), 0.0);
  for (int64_t tile = 0; tile < s.tiles; ++tile, packed += (Taps(s) + 1) * kTileChannels, sums += 2 * kTileChannels) {
    for (int64_t h = 0; h < s.out[1]; ++h) {
      const float* row = x + h * s.in[2];
      RowSums of_row;
      int64_t w = 0;
      for (; w + kTilePixels <= s.out[2]; w += kTilePixels) Tile<kTilePixels>(s, row + w, packed, of_row);
      for (; w < s.out[2]; ++w) Tile<1>(s, row + w, packed, of_row);
      for (int c = 0; c < kTileChannels; ++c) {
        sums[c] += of_row.sum[c / kLanes][c % kLanes];
        sums[kTileChannels + c] += of_row.square[c / kLanes][c % kLanes];
      }
    }
  }
}

// What is left of a sample: the mean of its normalised channels.
double MeanOfNormalised(const Shape& s, const double* slices, const float* gain, const float* shift) {
  const int64_t width = s.out_channels / s.groups;
  const double pixels = static_cast<double>(s.out[0] * s.out[1] * s.out[2]);
  const auto mean = [&](int64_t channel, int64_t which) {
    const int64_t at = channel / kTileChannels * 2 * kTileChannels + which * kTileChannels + channel % kTileChannels;
    double sum = 0;
    for (int64_t slice = 0; slice < s.out[0]; ++slice) sum += slices[slice * SumsOfSlice(s) + at];
    return sum / pixels;
  };
  double total = 0;
  for (int64_t first = 0; first < s.out_channels; first += width) {
    double center = 0, square = 0, weighted = 0, gains = 0;
    for (int64_t c = first; c < first + width; ++c) {
      const double of_channel = mean(c, 0);
      center += of_channel / static_cast<double>(width);
      square += mean(c, 1) / static_cast<double>(width);
      weighted += gain[c] * of_channel;
      gains += gain[c];
      total += shift[c];
    }
    total += (weighted - gains * center) / std::sqrt(std::max(square - center * center, 0.0) + 1e-5);
  }
  return total / static_cast<double>(s.out_channels);
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  const Shape s = ShapeOf(call);
  return s.tiles * (Taps(s) + 1) * kTileChannels * sizeof(float) +
         s.batch * s.out[0] * SumsOfSlice(s) * sizeof(double) + alignof(Vector);
}

int kb_prepare(const kb_call* call) {
  const Shape s = ShapeOf(call);
  const float *weight = Parameter(call, "conv.weight"), *bias = Parameter(call, "conv.bias");
  if (weight == nullptr || bias == nullptr) return 1;
  float* to = Packed(call);
  for (int64_t tile = 0; tile < s.tiles; ++tile) {
    for (int64_t row = -1; row < Taps(s); ++row) {
      for (int64_t o = tile * kTileChannels; o < (tile + 1) * kTileChannels; ++o) {
        *to++ = o >= s.out_channels ? 0.0f : row < 0 ? bias[o] : weight[o * Taps(s) + row];
      }
    }
  }
  return 0;
}

int kb_forward(const kb_call* call) {
  const Shape s = ShapeOf(call);
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const float *gain = Parameter(call, "group_norm.weight"), *shift = Parameter(call, "group_norm.bias");
  if (gain == nullptr || shift == nullptr) return 1;
  double* sums = Sums(call, s);

#pragma omp parallel for collapse(2) num_threads(call->num_threads) schedule(static)
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t d = 0; d < s.out[0]; ++d) {
      const float* corner = x + (n * s.in_channels * s.in[0] + d) * s.in[1] * s.in[2];
      Slice(s, corner, Packed(call), sums + (n * s.out[0] + d) * SumsOfSlice(s));
    }
  }
  for (int64_t n = 0; n < s.batch; ++n) {
    y[n] = static_cast<float>(MeanOfNormalised(s, sums + n * s.out[0] * SumsOfSlice(s), gain, shift));
  }
  return 0;
}
