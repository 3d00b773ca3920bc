"""Average pooling of a volume, transposed convolution, clamping, softmax over each channel's positions, and a gain.

    p = mean of x over blocks of POOL x POOL x POOL
    c = min(max(tconv(p), CLAMP_MIN), CLAMP_MAX)
    y[n, o, i] = exp(c[n, o, i]) / (sum over positions k of exp(c[n, o, k])) * scale[o]

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with, for D = DEPTH / POOL rounded down,
OUT_DEPTH = (D - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, and the others alike.

The parameter `scale`, (1, OUT_CHANNELS, 1, 1, 1), starts as 1. The answer is small, on average
1 / (number of positions).
"""
import torch
import torch.nn as nn

BATCH = 32
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 32
HEIGHT = 64
WIDTH = 64
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1
POOL = 2
CLAMP_MIN = 0.0
CLAMP_MAX = 1.0

SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 12, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 9, "IN_CHANNELS": 13, "OUT_CHANNELS": 29, "DEPTH": 11, "HEIGHT": 23, "WIDTH": 27},
}
# "scaled" first: the usual convolution results stay far below the upper limit of the clamp.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding,
                 pool_kernel_size, clamp_min, clamp_max):
        super().__init__()
        self.pool = nn.AvgPool3d(pool_kernel_size)
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding)
        self.limits = clamp_min, clamp_max
        self.scale = nn.Parameter(torch.ones(1, out_channels, 1, 1, 1))

    def forward(self, x):
        clamped = self.conv_transpose(self.pool(x)).clamp(*self.limits)
        shares = torch.softmax(clamped.flatten(start_dim=2), dim=2).view_as(clamped)
        return shares * self.scale


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, POOL, CLAMP_MIN, CLAMP_MAX]
