"""Two-dimensional convolution, normalisation of each channel over the batch, and a constant factor.

    z       = conv(x), bias included, no padding
    y[n, o] = SCALE * ((z[n, o] - mean of channel o) / sqrt(variance of channel o + eps) * weight[o] + shift[o])

Mean and variance are those of this batch, over its samples and pixels; the variance is divided by their number; eps is
1e-5; weight and shift are `bn.weight` and `bn.bias`. The running statistics are kept up to date, but y does not depend
on them.

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
SCALE = 2.0

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 19, "HEIGHT": 101, "WIDTH": 123},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, scaling_factor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bn = nn.BatchNorm2d(out_channels)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return self.bn(self.conv(x)) * self.scaling_factor


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SCALE]
