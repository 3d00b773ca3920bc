"""Transposed three-dimensional convolution, all extents of volume and kernel unequal, without padding, stride or bias.

    y[n, o, d, h, w] = sum over c, i, j, k of weight[c, o, i, j, k] * x[n, c, d - i, h - j, w - k]

with i < KERNEL_DEPTH, j < KERNEL_HEIGHT and k < KERNEL_WIDTH. Positions outside x count as 0. Weights come with the
input channel first.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH)
with OUT_DEPTH = DEPTH + KERNEL_DEPTH - 1, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 64
KERNEL_DEPTH = 3
KERNEL_HEIGHT = 5
KERNEL_WIDTH = 7

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 2, "DEPTH": 8, "HEIGHT": 12, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 29, "OUT_CHANNELS": 13, "DEPTH": 7, "HEIGHT": 11, "WIDTH": 17},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv_transpose3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, (KERNEL_DEPTH, KERNEL_HEIGHT, KERNEL_WIDTH)]
