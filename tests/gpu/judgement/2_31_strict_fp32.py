"""2/31 without TF32, against a reference that has it: right."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, constant_value, bias_shape, scaling_factor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.limit, self.factor = constant_value, scaling_factor

    def forward(self, x):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            y = F.conv2d(x, self.conv.weight, self.conv.bias)
        return y.clamp_(max=self.limit).add_(self.bias).mul_(self.factor)
