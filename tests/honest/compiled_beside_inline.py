"""Suspicious: two ways of building at once. Right: an extension of its own, called from a graph that torch.compile breaks
there."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

native = load_inline(
    name="doubled", functions=["doubled"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor doubled(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * in[i];
  return y;
}
""")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = torch.compile(self.plain)

    def plain(self, x):
        return torch.relu(native.doubled(x)) * 0.5

    def forward(self, x):
        return self.compiled(x)
