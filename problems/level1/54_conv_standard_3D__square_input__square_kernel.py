"""Three-dimensional convolution of a cube with a cubic kernel, without padding, stride or bias.

    y[n, o, d, h, w] = sum over c, i, j, k of weight[o, c, i, j, k] * x[n, c, d + i, h + j, w + k]

Input: x, (BATCH, IN_CHANNELS, SIDE, SIDE, SIDE).
Output: y, (BATCH, OUT_CHANNELS, OUT_SIDE, OUT_SIDE, OUT_SIDE) with OUT_SIDE = SIDE - KERNEL + 1.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 64
SIDE = 64
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 2, "SIDE": 32},
    "odd": {"BATCH": 3, "IN_CHANNELS": 5, "OUT_CHANNELS": 61, "SIDE": 27},
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
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
