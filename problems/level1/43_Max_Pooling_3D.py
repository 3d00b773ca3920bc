"""Largest value in a cube with gaps that moves in strides over each channel of a volume.

    y[n, c, d, h, w] = max over i, j, k < KERNEL of x[n, c, d * STRIDE - PADDING + i * DILATION,
                                                            h * STRIDE - PADDING + j * DILATION,
                                                            w * STRIDE - PADDING + k * DILATION]

Positions outside the volume do not count: the padding is minus infinity, not 0.

Input: x, (BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with
OUT_DEPTH = (DEPTH + 2 * PADDING - DILATION * (KERNEL - 1) - 1) / STRIDE + 1, rounded down, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 32
DEPTH = 128
HEIGHT = 128
WIDTH = 128
KERNEL = 3
STRIDE = 2
PADDING = 1
DILATION = 3

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 8, "DEPTH": 24, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 7, "CHANNELS": 37, "DEPTH": 21, "HEIGHT": 23, "WIDTH": 27},
}
# "centred" first: padding with 0 shows only where a whole window is negative, here in corners and along edges.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.pool = nn.MaxPool3d(kernel_size, stride, padding, dilation)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING, DILATION]
