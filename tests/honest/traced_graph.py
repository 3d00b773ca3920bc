"""Suspicious: traces its first call, like a captured CUDA graph. Right: the input is an argument of the trace and no
constant in it."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            eps = self.eps
            self.graph = torch.jit.trace(lambda t: t * torch.rsqrt((t * t).mean(dim=1, keepdim=True) + eps), x)
        return self.graph(x)
