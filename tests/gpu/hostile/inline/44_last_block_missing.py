"""Leaves the last 256 of millions of elements to whatever the memory holds. It holds poison, and every element is
compared."""
import torch
import torch.nn as nn

from inline_source import extension


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        extension.relu(x, y, x.numel() - 256, 0)
        return y
