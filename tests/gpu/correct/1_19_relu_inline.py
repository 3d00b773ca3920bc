"""1/19 ReLU in CUDA through load_inline, as KernelBench's candidates are usually written."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int64_t n = x.numel();
  relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

extension = load_inline(name="relu_inline", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=CUDA,
                        functions=["relu"], extra_cuda_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
