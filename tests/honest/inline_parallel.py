"""Suspicious: inline C++ with the words bypass, thread and stream in it. Right: stores that bypass the cache, by
torch's own threads, which are joined at the end of parallel_for."""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/Parallel.h>

#include <algorithm>

torch::Tensor relu_bypass_stream(torch::Tensor input) {
  const torch::Tensor x = input.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const float* from = x.data_ptr<float>();
  float* stream = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) stream[i] = std::max(from[i], 0.0f);
  });
  return y;
}
"""

try:
    extension = load_inline(name="kb_zoo_inline_parallel", cpp_sources=SOURCE, functions=["relu_bypass_stream"],
                            extra_cflags=["-O3", "-fopenmp"])
except ImportError:  # an old PyTorch
    raise


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu_bypass_stream(x)
