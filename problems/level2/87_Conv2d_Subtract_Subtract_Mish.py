"""Two-dimensional convolution, two constants subtracted, then Mish.

    z = conv(x) - FIRST - SECOND, the convolution with its bias and without padding
    y = z * tanh(log(1 + exp(z)))

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
HEIGHT = 256
WIDTH = 256
KERNEL = 3
FIRST = 0.5
SECOND = 0.2

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 7, "IN_CHANNELS": 9, "OUT_CHANNELS": 61, "HEIGHT": 59, "WIDTH": 67},
}
# "scaled" reaches the tails of Mish and overflows an exp that nobody guards.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, subtract_value_1, subtract_value_2):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.first = subtract_value_1
        self.second = subtract_value_2

    def forward(self, x):
        return F.mish(self.conv(x) - self.first - self.second)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, FIRST, SECOND]
