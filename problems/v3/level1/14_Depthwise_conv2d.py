"""Two-dimensional convolution of every colour of an image with its own kernel.

    y[n, c, h, w] = sum over i, j of weight[c, 0, i, j] * x[n, c, h + i, w + j]

The stride is 1; there is no padding and no bias.

Input: x, (BATCH, CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 3
HEIGHT = 256
WIDTH = 256
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8},
    "odd": {"BATCH": 7, "CHANNELS": 5, "HEIGHT": 229, "WIDTH": 251},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.conv2d = nn.Conv2d(channels, channels, kernel_size, groups=channels, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL]
