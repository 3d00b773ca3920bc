"""Two-dimensional convolution, mish, and batch normalisation with the statistics of this batch.

    z = conv(x), bias included, no padding
    a = z * tanh(log(1 + exp(z)))
    y[n, o] = (a[n, o] - mean of channel o) / sqrt(variance of channel o + eps) * weight[o] + shift[o]

Mean and variance of a channel are taken over all samples and pixels; the variance is divided by their number. weight
and shift are `bn.weight` and `bn.bias`; eps is 1e-5.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 128
WIDTH = 128
KERNEL = 3

SIZES = {
    "small": {"BATCH": 16, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 13, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 35, "WIDTH": 37},
}
# "scaled" reaches the tails: exp(z) overflows where log(1 + exp(z)) is not replaced by z.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        z = self.conv(x)
        return self.bn(z * torch.tanh(F.softplus(z)))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
