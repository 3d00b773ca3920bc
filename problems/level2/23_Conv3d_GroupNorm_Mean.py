"""Three-dimensional convolution, normalisation of groups of channels, and the mean of what is left of each sample.

    z[n, o]  = conv(x)[n, o], bias included
    g[n, o]  = (z[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]
    y[n]     = mean over o and all positions of g[n, o]

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; weight and shift are
`group_norm.weight` and `group_norm.bias`; eps is 1e-5.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH,).

With every weight 1 and every shift 0 the mean of a normalised tensor is 0 whatever the input. Here weights and shifts
are drawn, and each channel of each sample has a brightness of its own, so that the answer depends on all of them.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 24
DEPTH = 24
HEIGHT = 32
WIDTH = 32
KERNEL = 3
GROUPS = 8

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8, "DEPTH": 12, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 9, "OUT_CHANNELS": 21, "DEPTH": 11, "HEIGHT": 23, "WIDTH": 27, "GROUPS": 7},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FACTS_DIFFER = {
    "numbers": "the group norm's weight and bias are drawn and channels differ in brightness; else the output is 0",
}


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)
        nn.init.normal_(self.group_norm.weight)
        nn.init.normal_(self.group_norm.bias)

    def forward(self, x):
        return self.group_norm(self.conv(x)).mean(dim=(1, 2, 3, 4))


def get_inputs():
    brightness = torch.randn(BATCH, IN_CHANNELS, 1, 1, 1)
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH) + brightness]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, GROUPS]
