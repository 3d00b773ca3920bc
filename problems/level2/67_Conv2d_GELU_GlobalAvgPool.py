"""Two-dimensional convolution, exact GELU, and the mean of each channel.

    z = conv(x), bias included, no padding
    y[n, o] = mean over h, w of ( z[n, o, h, w] * (1 + erf(z[n, o, h, w] / sqrt(2))) / 2 )

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS). The convolved image is
KERNEL - 1 smaller than x in both directions.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 3

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 13, "IN_CHANNELS": 11, "OUT_CHANNELS": 61, "HEIGHT": 61, "WIDTH": 69},
}
# "scaled" first: with the usual inputs a channel has nearly the same mean in every sample.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        return F.gelu(self.conv(x)).mean(dim=(2, 3))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
