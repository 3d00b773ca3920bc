// RMSNorm over the channels of an image in one sweep over memory.
//
// Teaches: fusing a chain of elementwise operators and a reduction. Eager PyTorch runs five operators (square, mean, add,
// square root, divide), each with a tensor of its own. Here the plane of each image is cut into tiles so small that a tile
// of all channels stays in the cache of one core: the first loop reads it from memory and adds up the squares, the second
// finds it in the cache, scales it and stores it.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kTile = 1024;  // pixels; with 64 channels of fp32 a tile takes 256 KiB
constexpr float kEpsilon = 1e-5f;

// Normalises `n` neighbouring pixels of one image; the channels lie `plane` elements apart.
void NormaliseTile(const float* x, float* y, int64_t n, int64_t channels, int64_t plane) {
  float scale[kTile] = {};
  for (int64_t c = 0; c < channels; ++c) {
    const float* row = x + c * plane;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) scale[i] += row[i] * row[i];
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) scale[i] = 1.0f / std::sqrt(scale[i] / static_cast<float>(channels) + kEpsilon);
  for (int64_t c = 0; c < channels; ++c) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[c * plane + i] = x[c * plane + i] * scale[i];
  }
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& input = call->inputs[0];
  const float* x = static_cast<const float*>(input.data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t batch = input.shape[0], channels = input.shape[1], plane = input.shape[2] * input.shape[3];

#pragma omp parallel for collapse(2) num_threads(call->num_threads) schedule(static)
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t begin = 0; begin < plane; begin += kTile) {
      const int64_t start = n * channels * plane + begin;
      NormaliseTile(x + start, y + start, std::min(kTile, plane - begin), channels, plane);
    }
  }
  return 0;
}
