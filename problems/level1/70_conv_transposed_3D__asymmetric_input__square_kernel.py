"""Three-dimensional transposed convolution without padding, stride or bias.

    y[n, o, d, h, w] = sum over c, i, j, k of weight[c, o, i, j, k] * x[n, c, d - i, h - j, w - k]

Positions outside x count as 0.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, DEPTH + KERNEL - 1, HEIGHT + KERNEL - 1, WIDTH + KERNEL - 1).
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 48
OUT_CHANNELS = 24
DEPTH = 96
HEIGHT = 96
WIDTH = 96
KERNEL = 3

SIZES = {
    "small": {"BATCH": 2, "DEPTH": 16, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 45, "OUT_CHANNELS": 23, "DEPTH": 11, "HEIGHT": 15, "WIDTH": 19},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv_transpose3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
