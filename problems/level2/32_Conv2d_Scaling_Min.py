"""Two-dimensional convolution without padding, scaled, and the minimum over the channels.

    y[n] = minimum over o of SCALE * conv(x)[n, o], bias included, at each position

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 64
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 256
WIDTH = 256
KERNEL = 3
SCALE = 2.0

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 24, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 21, "IN_CHANNELS": 27, "OUT_CHANNELS": 67, "HEIGHT": 35, "WIDTH": 39},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, scale_factor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.scale_factor = scale_factor

    def forward(self, x):
        scaled = self.conv(x) * self.scale_factor
        return scaled.min(dim=1, keepdim=True).values


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SCALE]
