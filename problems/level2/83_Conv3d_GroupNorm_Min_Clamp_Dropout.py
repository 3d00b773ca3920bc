"""Three-dimensional convolution, group normalisation, minimum with a bound, clamping above that bound, and dropout.

    z[n, o] = conv(x)[n, o], bias included, no padding
    g[n, o] = (z[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]
    c       = min(g, MIN_VALUE), clamped to [MIN_VALUE, MAX_VALUE]
    y       = c / (1 - DROPOUT) with probability 1 - DROPOUT, else 0

A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample; weight and shift are
`norm.weight` and `norm.bias`; eps is 1e-5.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, DEPTH - KERNEL + 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).

Nothing above MIN_VALUE passes the minimum and nothing below it the clamp, so c is MIN_VALUE everywhere, here 0.
"""
import torch
import torch.nn as nn

FAMILY = "convolution"
NEEDS_TORCH_RNG = True
UNSCORED = "the output is 0 for any input"

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 64
WIDTH = 64
KERNEL = 3
GROUPS = 8
MIN_VALUE = 0.0
MAX_VALUE = 1.0
DROPOUT = 0.2

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 12, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 7, "OUT_CHANNELS": 15, "DEPTH": 11, "HEIGHT": 29, "WIDTH": 35, "GROUPS": 5},
}
# None: inputs of any kind give 0.
DISTRIBUTIONS = ()


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, groups, min_value, max_value, dropout_p):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.norm = nn.GroupNorm(groups, out_channels)
        self.dropout = nn.Dropout(dropout_p)
        self.min_value = min_value
        self.max_value = max_value

    def forward(self, x):
        bounded = self.norm(self.conv(x)).clamp(max=self.min_value)
        return self.dropout(bounded.clamp(self.min_value, self.max_value))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, GROUPS, MIN_VALUE, MAX_VALUE, DROPOUT]
