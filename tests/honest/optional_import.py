"""Suspicious: tries imports and swallows what they raise. Right: the imports are optional, and both ways compute the
same."""
import torch
import torch.nn as nn

try:
    import triton  # noqa: F401

    HAS_TRITON = True
except Exception:
    HAS_TRITON = False

try:
    from a_module_that_nobody_has import fast_relu
except ImportError:
    fast_relu = torch.relu


class ModelNew(nn.Module):
    def forward(self, x):
        return fast_relu(x)
