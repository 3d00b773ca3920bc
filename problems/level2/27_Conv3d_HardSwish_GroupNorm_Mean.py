"""Three-dimensional convolution, hard swish, normalisation of groups of channels, and the mean of each channel.

    z       = conv(x), bias included
    h       = z * clamp(z + 3, 0, 6) / 6
    g[n, o] = (h[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]
    y[n, o] = mean over all positions of g[n, o]

There are 4 groups: a group is OUT_CHANNELS / 4 neighbouring channels at all positions of one sample. The variance
divides by the number of elements; eps is 1e-5; weight and shift are `group_norm.weight` and `group_norm.bias`. The
convolution has no padding.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 4

FAMILY = "convolution"
# Many small samples: the fewer positions an average has, the more the samples differ.
SIZES = {
    "small": {"BATCH": 256, "DEPTH": 8, "HEIGHT": 10, "WIDTH": 10},
    "odd": {"BATCH": 201, "IN_CHANNELS": 5, "OUT_CHANNELS": 20, "DEPTH": 7, "HEIGHT": 9, "WIDTH": 11},
}
# "scaled" reaches what lies outside of -3 to 3, where hard swish is no longer a parabola. Uniform numbers give every
# sample nearly the same answer, which differs from channel to channel only; "scaled" makes samples differ.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups=4):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        normalised = self.group_norm(F.hardswish(self.conv(x)))
        return normalised.mean(dim=(2, 3, 4))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
