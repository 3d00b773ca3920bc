"""Transposed convolution of a volume, average pooling, and a bias for each channel, with two learned factors.

    p[n, o] = mean of (scale1 * tconv(x)[n, o]) over each block of POOL x POOL x POOL
    y[n, o] = scale2 * (p[n, o] + bias[o])

The factors are parameters of one element; the convolution has a bias of its own. Blocks do not overlap, and what does
not fill a block is left out.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with
OUT_DEPTH = ((DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL) / POOL, rounded down, and the others alike.
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
POOL = 2
SCALE_1 = 0.5
SCALE_2 = 1.0

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 13, "DEPTH": 9, "HEIGHT": 13, "WIDTH": 19},
}
# "scaled" first: with the usual inputs the bias outweighs the convolution.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "transposed convolution"
COLLAPSES = "with stride 2, pooling by 2 turns the transposed convolution into a plain one with 8 taps, 1/8 as large"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, scale1, scale2, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)
        self.scale1 = nn.Parameter(torch.tensor(scale1))
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scale2 = nn.Parameter(torch.tensor(scale2))

    def forward(self, x):
        pooled = F.avg_pool3d(self.conv_transpose(x) * self.scale1, POOL)
        return (pooled + self.bias) * self.scale2


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, SCALE_1, SCALE_2, (OUT_CHANNELS, 1, 1, 1)]
