"""Suspicious: a constructor with other names and defaults than the reference's. Right: it is called with the problem's
arguments in order, and the rest are its own business."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels=7, epsilon=1e-5, *, chunks=4, verbose=False):
        super().__init__()
        self.epsilon, self.chunks = epsilon, chunks

    def forward(self, x):
        parts = [t * torch.rsqrt(t.square().mean(dim=1, keepdim=True) + self.epsilon) for t in x.chunk(self.chunks)]
        return torch.cat(parts)
