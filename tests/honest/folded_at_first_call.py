"""Suspicious: the first call does more than all others. Right: it packs the weights, which no input touches, once for
each construction."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.conv.weight.detach().contiguous(memory_format=torch.channels_last)
        return torch.conv2d(x, self.packed, self.conv.bias).relu_().add_(self.bias)
