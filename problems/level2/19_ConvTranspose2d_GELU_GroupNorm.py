"""Two-dimensional transposed convolution, GELU, and normalisation of groups of channels.

    z       = transposed conv(x), bias included
    g       = z / 2 * (1 + erf(z / sqrt(2)))
    y[n, o] = (g[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; the variance divides by the
number of elements; eps is 1e-5; weight and shift are `group_norm.weight` and `group_norm.bias`. In the transposed
convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at i * STRIDE + k, in both directions.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH) with
OUT_HEIGHT = (HEIGHT - 1) * STRIDE + KERNEL, and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 3
STRIDE = 1
GROUPS = 8

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 12, "IN_CHANNELS": 32, "OUT_CHANNELS": 32, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 11, "IN_CHANNELS": 29, "OUT_CHANNELS": 35, "HEIGHT": 53, "WIDTH": 61, "GROUPS": 7},
}
# "scaled" reaches the tails of GELU.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    # The number of groups is given twice; the convolution itself has no groups.
    def __init__(self, in_channels, out_channels, kernel_size, stride, groups, num_groups):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        return self.group_norm(F.gelu(self.conv_transpose(x)))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, GROUPS, GROUPS]
