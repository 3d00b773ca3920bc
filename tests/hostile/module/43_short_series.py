"""Softmax with a polynomial that fits exp on [0, 1) only, and without subtracting the maximum. Stressed inputs, which
are part of every evaluation, leave that range."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        p = torch.full_like(x, 1 / 5040)
        for coefficient in (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
            p.mul_(x).add_(coefficient)
        return p.div_(p.sum(dim=1, keepdim=True))
