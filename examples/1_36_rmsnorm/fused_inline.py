"""RMSNorm over the channels, fused, as inline C++.

Teaches: the same kernel as fused.cpp inside a module. `load_inline` compiles it when the file is imported, and
`at::parallel_for` splits the work among PyTorch's own threads. The output is allocated here, so the judge has to copy it:
a native candidate is spared that.
"""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

constexpr int64_t kTile = 1024;  // pixels; with 64 channels of fp32 a tile takes 256 KiB

static void normalise_tile(const float* x, float* y, int64_t n, int64_t channels, int64_t plane, float eps) {
  float scale[kTile] = {};
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < n; ++i) scale[i] += x[c * plane + i] * x[c * plane + i];
  }
  for (int64_t i = 0; i < n; ++i) scale[i] = 1.0f / std::sqrt(scale[i] / static_cast<float>(channels) + eps);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < n; ++i) y[c * plane + i] = x[c * plane + i] * scale[i];
  }
}

torch::Tensor rms_norm(torch::Tensor input, double eps) {
  const torch::Tensor x = input.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t channels = x.size(1), plane = x.size(2) * x.size(3);
  const int64_t tiles = (plane + kTile - 1) / kTile;
  const float* from = x.data_ptr<float>();
  float* to = y.data_ptr<float>();
  at::parallel_for(0, x.size(0) * tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t pixel = task % tiles * kTile;
      const int64_t start = task / tiles * channels * plane + pixel;
      normalise_tile(from + start, to + start, std::min(kTile, plane - pixel), channels, plane, eps);
    }
  });
  return y;
}
"""

extension = load_inline(
    name="kb_example_rms_norm",
    cpp_sources=SOURCE,
    functions=["rms_norm"],
    extra_cflags=["-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return extension.rms_norm(x, self.eps)
