"""Two-dimensional convolution, normalisation of groups of channels, a scale for each channel, max pooling, clamping.

    z[n, o] = conv(x)[n, o], bias included, no padding
    g[n, o] = (z[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]
    m       = largest value of scale[o] * g[n, o] in each block of POOL x POOL
    y       = m, clamped to [CLAMP_MIN, CLAMP_MAX]

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; weight and shift are
`group_norm.weight` and `group_norm.bias`; eps is 1e-5. Every scale is 1 at the start but may become negative.
Rows and columns left over by the pooling are dropped.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, (HEIGHT - KERNEL + 1) / POOL, (WIDTH - KERNEL + 1) / POOL), rounded down.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "convolution"

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 128
KERNEL = 3
GROUPS = 16
POOL = 4
CLAMP_MIN = 0.0
CLAMP_MAX = 1.0

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 13, "IN_CHANNELS": 7, "OUT_CHANNELS": 65, "HEIGHT": 59, "WIDTH": 67, "GROUPS": 13},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups, scale_shape, pool_kernel_size,
                 clamp_min, clamp_max):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)
        self.scale = nn.Parameter(torch.ones(scale_shape))
        self.pool_kernel_size = pool_kernel_size
        self.clamp_min = clamp_min
        self.clamp_max = clamp_max

    def forward(self, x):
        scaled = self.group_norm(self.conv(x)) * self.scale
        return F.max_pool2d(scaled, self.pool_kernel_size).clamp(self.clamp_min, self.clamp_max)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, GROUPS, (OUT_CHANNELS, 1, 1), POOL, CLAMP_MIN, CLAMP_MAX]
