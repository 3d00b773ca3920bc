"""Two-dimensional convolution of a colour image, as in a network's first layer.

    y[n, o, h, w] = sum over c, i, j of weight[o, c, i, j] * x[n, c, h + i, w + j]

The stride is 1; there is no padding and no bias.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 61, "HEIGHT": 101, "WIDTH": 123},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
