"""One-dimensional transposed convolution with stride, padding and a dilated kernel.

Every input value adds its multiple of a kernel to y, which starts at 0:

    y[n, o, STRIDE * l - PADDING + DILATION * i] += weight[c, o, i] * x[n, c, l]

What falls outside y is dropped. There is no bias.

Input: x, (BATCH, IN_CHANNELS, LENGTH).
Output: y, (BATCH, OUT_CHANNELS, (LENGTH - 1) * STRIDE - 2 * PADDING + DILATION * (KERNEL - 1) + 1).
Positions of y at an even index get nothing and are 0.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
LENGTH = 131072
KERNEL = 3
STRIDE = 2
PADDING = 1
DILATION = 2

SIZES = {
    "small": {"BATCH": 4, "LENGTH": 4096},
    "odd": {"BATCH": 5, "IN_CHANNELS": 31, "OUT_CHANNELS": 61, "LENGTH": 4099},
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
