"""A "custom kernel" that is one call of the library through inline C++. It is right and wins nothing; who did the work
is for the report of authorship to say."""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = "torch::Tensor custom_relu_kernel(torch::Tensor x) { return at::relu(x); }"

extension = load_inline(name="kb_zoo_library", cpp_sources=SOURCE, functions=["custom_relu_kernel"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.custom_relu_kernel(x)
