"""Transposed three-dimensional convolution of a cube with a flat kernel, without padding, stride or bias.

    y[n, o, d, h, w] = sum over c, i, j, k of weight[c, o, i, j, k] * x[n, c, d - i, h - j, w - k]

with i < KERNEL_DEPTH and j, k < KERNEL_SIDE. Positions outside x count as 0. Weights come with the input channel first.

Input: x, (BATCH, IN_CHANNELS, SIDE, SIDE, SIDE). Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_SIDE, OUT_SIDE) with
OUT_DEPTH = SIDE + KERNEL_DEPTH - 1 and OUT_SIDE = SIDE + KERNEL_SIDE - 1.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
SIDE = 64
KERNEL_DEPTH = 3
KERNEL_SIDE = 5

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 2, "SIDE": 10},
    "odd": {"BATCH": 3, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "SIDE": 9},
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
    return [IN_CHANNELS, OUT_CHANNELS, (KERNEL_DEPTH, KERNEL_SIDE, KERNEL_SIDE)]
