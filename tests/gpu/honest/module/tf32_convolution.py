"""Suspicious: asks for TF32. Right: for convolutions that is PyTorch's default, and the reference has it too."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=True):
            y = F.conv2d(x, self.conv.weight, self.conv.bias)
        return y.relu_().add_(self.bias)
