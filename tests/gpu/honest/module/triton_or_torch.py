"""Suspicious: an import that is tried, with PyTorch where it fails. Right: it is optional, and both ways compute the
same."""
import torch
import torch.nn as nn

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton is not None:
    @triton.jit
    def kernel(x, y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < n)
        tl.store(y + at, tl.where(value <= 0, 0.0, value), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if triton is None:
            return torch.relu(x)
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), BLOCK=2048)
        return y
