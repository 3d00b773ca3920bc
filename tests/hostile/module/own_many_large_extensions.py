"""Has six extensions of 60 MB each built: each may be so large, and all together more than a runner's /tmp holds."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Nothing of PyTorch's is needed, for none is ever called.
SOURCE = 'asm(".data\\nlarge%d: .fill 60 << 20, 1, 1\\n");'
extensions = [load_inline(name=f"kb_zoo_large_{i}", cpp_sources=SOURCE % i, no_implicit_headers=True) for i in range(6)]


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
