"""Two-dimensional convolution, a bias and a scale for each channel, sigmoid, and normalisation of groups of channels.

    z[n, o] = (conv(x)[n, o] + bias[o]) * scale[o], the convolution's own bias included
    s       = 1 / (1 + exp(-z))
    y[n, o] = (s[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; the variance divides by the
number of elements; eps is 1e-5; weight and shift are `group_norm.weight` and `group_norm.bias`. The convolution has no
padding.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 32
HEIGHT = 256
WIDTH = 256
KERNEL = 3
GROUPS = 8

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 24, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 23, "IN_CHANNELS": 9, "OUT_CHANNELS": 35, "HEIGHT": 59, "WIDTH": 67, "GROUPS": 7},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups, bias_shape, scale_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scale = nn.Parameter(torch.randn(scale_shape))
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        z = (self.conv(x) + self.bias) * self.scale
        return self.group_norm(torch.sigmoid(z))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    per_channel = (OUT_CHANNELS, 1, 1)
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, GROUPS, per_channel, per_channel]
