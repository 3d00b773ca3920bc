"""Mean of each square of a grid laid over an image, channel by channel.

    y[n, c, h, w] = 1 / KERNEL^2 * sum over i, j < KERNEL of x[n, c, h * KERNEL + i, w * KERNEL + j]

The squares do not overlap (the stride is KERNEL) and there is no padding; rows and columns that do not fill a square
are left out.

Input: x, (BATCH, CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, CHANNELS, HEIGHT / KERNEL, WIDTH / KERNEL), both rounded down.
"""
import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 64
HEIGHT = 2048
WIDTH = 2048
KERNEL = 11

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 4, "CHANNELS": 16, "HEIGHT": 256, "WIDTH": 256},
    "odd": {"BATCH": 3, "CHANNELS": 17, "HEIGHT": 251, "WIDTH": 283},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, kernel_size):
        super().__init__()
        self.pool = nn.AvgPool2d(kernel_size)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [KERNEL]
