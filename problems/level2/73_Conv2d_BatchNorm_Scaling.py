"""Two-dimensional convolution, batch normalisation, then a constant factor.

    z[n, o] = conv(x)[n, o], bias included, no padding
    y[n, o] = SCALE * ((z[n, o] - mean of channel o) / sqrt(variance of channel o + eps) * weight[o] + shift[o])

Mean and variance (divided by the count) are those of the batch, over samples and positions; eps is 1e-5.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

FAMILY = "convolution"

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 128
KERNEL = 3
SCALE = 2.0

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 13, "IN_CHANNELS": 7, "OUT_CHANNELS": 61, "HEIGHT": 59, "WIDTH": 67},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, scaling_factor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bn = nn.BatchNorm2d(out_channels)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return self.scaling_factor * self.bn(self.conv(x))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SCALE]
