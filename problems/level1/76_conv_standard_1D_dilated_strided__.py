"""One-dimensional convolution with stride and a dilated kernel.

    y[n, o, l] = sum over c, i of weight[o, c, i] * x[n, c, l * STRIDE + i * DILATION]

There is no padding and no bias.

Input: x, (BATCH, IN_CHANNELS, LENGTH). Output: y, (BATCH, OUT_CHANNELS, OUT_LENGTH) with
OUT_LENGTH = (LENGTH - DILATION * (KERNEL - 1) - 1) / STRIDE + 1, rounded down.
"""
import torch
import torch.nn as nn

BATCH = 64
IN_CHANNELS = 64
OUT_CHANNELS = 128
LENGTH = 524280
KERNEL = 3
STRIDE = 3
DILATION = 4

SIZES = {
    "small": {"BATCH": 4, "LENGTH": 16376},
    "odd": {"BATCH": 3, "IN_CHANNELS": 61, "OUT_CHANNELS": 125, "LENGTH": 16381},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, dilation):
        super().__init__()
        self.conv1d = nn.Conv1d(in_channels, out_channels, kernel_size, stride=stride, dilation=dilation, bias=False)

    def forward(self, x):
        return self.conv1d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, LENGTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, DILATION]
