"""Two-dimensional convolution of a wide image with a square kernel, without padding, stride or bias.

    y[n, o, h, w] = sum over c, i, j of weight[o, c, i, j] * x[n, c, h + i, w + j]

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 512
WIDTH = 1024
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 32, "WIDTH": 64},
    "odd": {"BATCH": 3, "IN_CHANNELS": 61, "OUT_CHANNELS": 117, "HEIGHT": 27, "WIDTH": 45},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
