"""Three-dimensional transposed convolution, bounded from below, then divided by a constant.

    z = transposed conv(x), bias included
    y = max(z, MIN_VALUE) / DIVISOR

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, D, H, W) with
D = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL, H and W alike.
"""
import torch
import torch.nn as nn

FAMILY = "transposed convolution"

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
DEPTH = 24
HEIGHT = 48
WIDTH = 48
KERNEL = 3
STRIDE = 2
PADDING = 1
MIN_VALUE = -1.0
DIVISOR = 2.0

SIZES = {
    "small": {"BATCH": 2, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "DEPTH": 7, "HEIGHT": 11, "WIDTH": 13},
}
# No natural z is as low as MIN_VALUE: only "scaled" shows whether the bound is there.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, min_value, divisor):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)
        self.min_value = min_value
        self.divisor = divisor

    def forward(self, x):
        return self.conv_transpose(x).clamp(min=self.min_value) / self.divisor


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, MIN_VALUE, DIVISOR]
