"""Has several extensions built, each of which takes almost as long as all builds of a candidate may."""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <pybind11/pybind11.h>

static void positives(size_t x, size_t y, int64_t elements) {
  const float* from = reinterpret_cast<const float*>(x);
  float* to = reinterpret_cast<float*>(y);
  for (int64_t i = 0; i < elements; ++i) to[i] = from[i] < 0 ? 0.0f : from[i];
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("positives", &positives); }
"""
SLOWLY = 'case "$0" in *cc1plus) sleep 6;; esac; exec "$0" "$@"'
extensions = [load_inline(name=f"kb_zoo_slow_build_{i}", cpp_sources=SOURCE, no_implicit_headers=True,
                          extra_cflags=[f"-DNUMBER={i}", "-wrapper", "/bin/sh,-c," + SLOWLY]) for i in range(3)]


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape)
        extensions[0].positives(x.data_ptr(), y.data_ptr(), x.numel())
        return y
