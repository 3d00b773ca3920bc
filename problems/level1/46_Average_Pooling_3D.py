"""Mean of a cube that moves in strides over each channel of a volume.

    y[n, c, d, h, w] = 1 / KERNEL^3 * sum over i, j, k < KERNEL of x[n, c, d * STRIDE - PADDING + i,
                                                                           h * STRIDE - PADDING + j,
                                                                           w * STRIDE - PADDING + k]

Positions outside the volume are 0 and count: the divisor is KERNEL^3 at the borders too.

Input: x, (BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with
OUT_DEPTH = (DEPTH + 2 * PADDING - KERNEL) / STRIDE + 1, rounded down, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 32
DEPTH = 128
HEIGHT = 128
WIDTH = 256
KERNEL = 3
STRIDE = 2
PADDING = 1

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 4, "CHANNELS": 16, "DEPTH": 32, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 5, "CHANNELS": 13, "DEPTH": 27, "HEIGHT": 31, "WIDTH": 37},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.AvgPool3d(kernel_size, stride, padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING]
