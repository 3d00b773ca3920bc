"""Two-dimensional convolution without padding, stride or bias.

    y[n, o, h, w] = sum over c, i, j of weight[o, c, i, j] * x[n, c, h + i, w + j]

Input: x, (BATCH, IN_CHANNELS, SIDE, SIDE).
Output: y, (BATCH, OUT_CHANNELS, SIDE - KERNEL + 1, SIDE - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 16
OUT_CHANNELS = 128
SIDE = 1024
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 2, "SIDE": 64},
    "odd": {"BATCH": 3, "IN_CHANNELS": 13, "OUT_CHANNELS": 101, "SIDE": 53},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
