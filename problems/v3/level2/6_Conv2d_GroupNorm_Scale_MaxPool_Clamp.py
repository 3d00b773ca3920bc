"""Two-dimensional convolution, normalisation of groups of channels, a factor for each channel, max pooling, clamping.

    z[n, o] = conv(x)[n, o], bias included, no padding
    g[n, o] = (z[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]
    m[n, o, i, j] = max over p, q < POOL of scale[o] * g[n, o, i * POOL + p, j * POOL + q]
    y       = min(max(m, LOWEST), HIGHEST)

A group is OUT_CHANNELS / GROUPS neighbouring channels of one sample with all their pixels; the variance is divided by
their number; eps is 1e-5; weight and shift are `group_norm.weight` and `group_norm.bias`. Rows and columns left over by
the pooling are dropped.

Scales and shifts are drawn: with scales of 1 and shifts of 0 nearly every block has a pixel above HIGHEST. Where a
scale is negative, the smallest g of the block counts.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, (HEIGHT - KERNEL + 1) / POOL, (WIDTH - KERNEL + 1) / POOL), rounded down.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 16
HEIGHT = 256
WIDTH = 256
KERNEL = 3
GROUPS = 8
POOL = 4
LOWEST = 0.0
HIGHEST = 1.0

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 21, "HEIGHT": 101, "WIDTH": 123, "GROUPS": 7},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups, scale_shape, maxpool_kernel_size,
                 clamp_min, clamp_max):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)
        nn.init.normal_(self.group_norm.bias)
        self.scale = nn.Parameter(0.5 * torch.randn(scale_shape))
        self.pool = nn.MaxPool2d(maxpool_kernel_size)
        self.lowest, self.highest = clamp_min, clamp_max

    def forward(self, x):
        g = self.group_norm(self.conv(x))
        return self.pool(self.scale * g).clamp(self.lowest, self.highest)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, GROUPS, (OUT_CHANNELS, 1, 1), POOL, LOWEST, HIGHEST]
