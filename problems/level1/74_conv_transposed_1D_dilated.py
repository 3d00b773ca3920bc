"""One-dimensional transposed convolution with a dilated kernel.

    y[n, o, l] = sum over c, i of weight[c, o, i] * x[n, c, l - DILATION * i]

Positions outside x count as 0. The stride is 1; there is no padding and no bias.

Input: x, (BATCH, IN_CHANNELS, LENGTH). Output: y, (BATCH, OUT_CHANNELS, LENGTH + DILATION * (KERNEL - 1)).
"""
import torch
import torch.nn as nn

BATCH = 32
IN_CHANNELS = 32
OUT_CHANNELS = 64
LENGTH = 131072
KERNEL = 5
STRIDE = 1
PADDING = 0
DILATION = 3

SIZES = {
    "small": {"BATCH": 4, "LENGTH": 16384},
    "odd": {"BATCH": 3, "IN_CHANNELS": 31, "OUT_CHANNELS": 61, "LENGTH": 16381},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        self.conv1d_transpose = nn.ConvTranspose1d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=False)

    def forward(self, x):
        return self.conv1d_transpose(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, LENGTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, DILATION]
