"""ReLU whose inline C++ does not compile.

Teaches: what a build failure looks like for a module. `load_inline` runs when the file is imported, so the compiler's
output belongs to the build and not to the run.
"""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor relu(torch::Tensor x) {
  return x.clamp_min(zero);  // `zero` was never declared
}
"""

extension = load_inline(name="kb_example_relu_error", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
