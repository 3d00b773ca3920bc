"""Two-dimensional convolution, normalisation of each channel of each sample, and division by a constant.

    z[n, o] = conv(x)[n, o], bias included, no padding
    y[n, o] = (z[n, o] - mean of z[n, o]) / sqrt(variance of z[n, o] + eps) / DIVISOR

Mean and variance are taken over the pixels of one channel of one sample; the variance is divided by their number; eps
is 1e-5. The normalisation has no gain and no shift.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 16
HEIGHT = 256
WIDTH = 256
KERNEL = 3
DIVISOR = 2.0

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 19, "HEIGHT": 101, "WIDTH": 123},
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
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, DIVISOR]
