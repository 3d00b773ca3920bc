"""Two-dimensional convolution without padding, normalisation of each channel of each sample, divided by a constant.

    z       = conv(x), bias included
    y[n, o] = (z[n, o] - mean of z[n, o]) / sqrt(variance of z[n, o] + eps) / DIVISOR

Mean and variance are over all positions of one channel of one sample; the variance divides by their number; eps is
1e-5. There is no learned gain, and the convolution's bias cancels.

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
DIVISOR = 2.0

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 24, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 23, "IN_CHANNELS": 29, "OUT_CHANNELS": 59, "HEIGHT": 33, "WIDTH": 39},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, divide_by):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.instance_norm = nn.InstanceNorm2d(out_channels)
        self.divide_by = divide_by

    def forward(self, x):
        return self.instance_norm(self.conv(x)) / self.divide_by


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, DIVISOR]
