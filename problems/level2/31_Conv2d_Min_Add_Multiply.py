"""Two-dimensional convolution without padding, limited from above, plus a bias for each channel, and scaled.

    y[n, o] = (min(conv(x)[n, o], LIMIT) + bias[o]) * SCALE

The convolution has a bias of its own, which is added before the minimum is taken.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 128
WIDTH = 128
KERNEL = 3
LIMIT = 0.5
SCALE = 2.0

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 24, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 25, "IN_CHANNELS": 27, "OUT_CHANNELS": 61, "HEIGHT": 33, "WIDTH": 37},
}
# "scaled" makes the limit matter everywhere.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, constant_value, bias_shape, scaling_factor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.constant_value = constant_value
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scaling_factor = scaling_factor

    def forward(self, x):
        limited = torch.clamp(self.conv(x), max=self.constant_value)
        return (limited + self.bias) * self.scaling_factor


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, LIMIT, (OUT_CHANNELS, 1, 1), SCALE]
