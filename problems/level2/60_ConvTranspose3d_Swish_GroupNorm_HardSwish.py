"""Transposed convolution of a volume, swish, normalisation of groups of channels, then hard swish.

    z = tconv(x), bias included
    s = z / (1 + exp(-z))
    g[n, o] = (s[n, o] - mean of the group of o) / sqrt(variance of the group of o + EPS) * weight[o] + shift[o]
    y = g * min(max(g + 3, 0), 6) / 6

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; weight and shift are
`group_norm.weight` and `group_norm.bias`.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with
OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL, and the others alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1
GROUPS = 4
EPS = 1e-5

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 15, "DEPTH": 9, "HEIGHT": 13, "WIDTH": 19, "GROUPS": 5},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, groups, eps):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)
        self.group_norm = nn.GroupNorm(groups, out_channels, eps)

    def forward(self, x):
        return F.hardswish(self.group_norm(F.silu(self.conv_transpose(x))))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, GROUPS, EPS]
