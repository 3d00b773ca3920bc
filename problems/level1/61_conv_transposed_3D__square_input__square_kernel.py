"""Transposed three-dimensional convolution of a cube with a cubic kernel, without padding, stride or bias.

    y[n, o, d, h, w] = sum over c, i, j, k of weight[c, o, i, j, k] * x[n, c, d - i, h - j, w - k]

Positions outside x count as 0. Weights come with the input channel first.

Input: x, (BATCH, IN_CHANNELS, SIDE, SIDE, SIDE).
Output: y, (BATCH, OUT_CHANNELS, OUT_SIDE, OUT_SIDE, OUT_SIDE) with OUT_SIDE = SIDE + KERNEL - 1.
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 48
OUT_CHANNELS = 48
SIDE = 64
KERNEL = 3

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 2, "SIDE": 12},
    "odd": {"BATCH": 3, "IN_CHANNELS": 45, "OUT_CHANNELS": 51, "SIDE": 11},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv_transpose3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, SIDE, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
