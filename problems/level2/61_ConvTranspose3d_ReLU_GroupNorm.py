"""Transposed convolution of a volume, ReLU, then normalisation of groups of channels.

    r = max(tconv(x), 0)
    y[n, o] = (r[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; weight and shift are
`group_norm.weight` and `group_norm.bias`; eps is 1e-5. The convolution has neither stride nor padding nor a bias.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, DEPTH + KERNEL - 1, HEIGHT + KERNEL - 1, WIDTH + KERNEL - 1).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
DEPTH = 32
HEIGHT = 32
WIDTH = 32
KERNEL = 3
GROUPS = 8
BIAS = False

SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "DEPTH": 12, "HEIGHT": 12, "WIDTH": 12},
    "odd": {"BATCH": 5, "IN_CHANNELS": 29, "OUT_CHANNELS": 63, "DEPTH": 9, "HEIGHT": 11, "WIDTH": 13, "GROUPS": 7},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, groups, bias):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, bias=bias)
        self.group_norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x):
        return self.group_norm(torch.relu(self.conv_transpose(x)))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, GROUPS, BIAS]
