"""Two-dimensional convolution, added to a bent and normalised copy of itself, and log-sum-exp over the channels.

    z[n, o] = conv(x)[n, o], bias included, no padding
    g[n, o] = (z[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]
    t       = tanh(g)
    h       = t * min(max(t + 3, 0), 6) / 6
    y[n, 0] = log(sum over o of exp(z[n, o] + h[n, o])), position by position

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; weight and shift are
`group_norm.weight` and `group_norm.bias`; eps is 1e-5.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
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

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 7, "IN_CHANNELS": 9, "OUT_CHANNELS": 65, "HEIGHT": 59, "WIDTH": 67, "GROUPS": 13},
}
# Only "scaled" overflows an exp without the maximum subtracted.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, groups):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x):
        z = self.conv(x)
        bent = F.hardswish(torch.tanh(self.group_norm(z)))
        return torch.logsumexp(z + bent, dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, GROUPS]
