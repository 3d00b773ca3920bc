"""Three-dimensional convolution of a cube with a kernel of three unequal extents, without padding, stride or bias.

    y[n, o, d, h, w] = sum over c, i, j, k of weight[o, c, i, j, k] * x[n, c, d + i, h + j, w + k]

with i < KERNEL_DEPTH, j < KERNEL_HEIGHT and k < KERNEL_WIDTH.

Input: x, (BATCH, IN_CHANNELS, SIDE, SIDE, SIDE). Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH)
with OUT_DEPTH = SIDE - KERNEL_DEPTH + 1, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 64
SIDE = 64
KERNEL_DEPTH = 3
KERNEL_HEIGHT = 5
KERNEL_WIDTH = 7

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 2, "SIDE": 24},
    "odd": {"BATCH": 3, "IN_CHANNELS": 5, "OUT_CHANNELS": 61, "SIDE": 19},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv3d = nn.Conv3d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, SIDE, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, (KERNEL_DEPTH, KERNEL_HEIGHT, KERNEL_WIDTH)]
