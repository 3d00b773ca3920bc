"""Two-dimensional convolution, divided by a constant, then leaky ReLU.

    z = conv(x) / DIVISOR, the convolution with its bias and without padding
    y = z where z > 0, else 0.01 * z

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "convolution"

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 128
KERNEL = 3
DIVISOR = 2

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 13, "IN_CHANNELS": 7, "OUT_CHANNELS": 61, "HEIGHT": 59, "WIDTH": 67},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, divisor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.divisor = divisor

    def forward(self, x):
        return F.leaky_relu(self.conv(x) / self.divisor, negative_slope=0.01)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, DIVISOR]
