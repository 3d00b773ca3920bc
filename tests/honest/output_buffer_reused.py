"""Suspicious: returns the same tensor at every call, as one that replays an answer. Right: it is written in full each
time, and allocating it once saves page faults."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = torch.empty(0)

    def forward(self, x):
        if self.y.shape != x.shape:
            self.y = torch.empty_like(x)
        return torch.clamp(x, 0, out=self.y)
