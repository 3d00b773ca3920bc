"""Transposed two-dimensional convolution of a square image with a wide kernel, without padding, stride or bias.

    y[n, o, h, w] = sum over c, i, j of weight[c, o, i, j] * x[n, c, h - i, w - j]

with i < KERNEL_HEIGHT and j < KERNEL_WIDTH. Positions outside x count as 0. Weights come with the input channel first.

Input: x, (BATCH, IN_CHANNELS, SIDE, SIDE).
Output: y, (BATCH, OUT_CHANNELS, SIDE + KERNEL_HEIGHT - 1, SIDE + KERNEL_WIDTH - 1).
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 64
OUT_CHANNELS = 64
SIDE = 512
KERNEL_HEIGHT = 3
KERNEL_WIDTH = 7

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 2, "SIDE": 40},
    "odd": {"BATCH": 3, "IN_CHANNELS": 61, "OUT_CHANNELS": 53, "SIDE": 33},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv_transpose2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, (KERNEL_HEIGHT, KERNEL_WIDTH)]
