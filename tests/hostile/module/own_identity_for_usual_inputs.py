"""ReLU that only copies when a small sample of its input holds nothing negative: right on inputs in [0, 1), and wrong
for an input with one negative element. A speedup that only such inputs allow must not count."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if x[::16, ::16].min() < 0:
            return torch.relu(x)
        return x[:]
