"""2/1 with TF32 in the convolution, as the reference has it by PyTorch's default: right."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=True):
            y = F.conv2d(x, self.conv.weight, self.conv.bias)
        return y.relu_().add_(self.bias)
