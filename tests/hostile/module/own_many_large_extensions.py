"""Has six extensions of 60 MB each built: each may be so large, and all together more than a runner's /tmp holds."""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
extern char large[60 << 20];
asm(".data\\n.globl large\\nlarge: .fill 60 << 20, 1, %d\\n");
torch::Tensor relu(torch::Tensor x) { return large[0] ? x.clamp_min(0) : x; }
"""
extensions = [load_inline(name=f"kb_zoo_large_{i}", cpp_sources=SOURCE % (i + 1), functions=["relu"]) for i in range(6)]


class ModelNew(nn.Module):
    def forward(self, x):
        return extensions[0].relu(x)
