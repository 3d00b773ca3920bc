"""Two-dimensional transposed convolution of a wide image without padding, stride or bias.

    y[n, o, h, w] = sum over c, i, j of weight[c, o, i, j] * x[n, c, h - i, w - j]

Positions outside x count as 0.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT + KERNEL - 1, WIDTH + KERNEL - 1).
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 32
OUT_CHANNELS = 32
HEIGHT = 512
WIDTH = 1024
KERNEL = 3

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 96, "WIDTH": 192},
    "odd": {"BATCH": 3, "IN_CHANNELS": 31, "OUT_CHANNELS": 29, "HEIGHT": 121, "WIDTH": 163},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv_transpose2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
