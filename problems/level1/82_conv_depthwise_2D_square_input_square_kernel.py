"""Two-dimensional convolution of each channel with a kernel of its own.

    y[n, c, h, w] = sum over i, j of weight[c, 0, i, j] * x[n, c, h + i, w + j]

The stride is 1; there is no padding and no bias.

Input: x, (BATCH, CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 64
HEIGHT = 512
WIDTH = 512
KERNEL = 3
STRIDE = 1
PADDING = 0

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 7, "CHANNELS": 61, "HEIGHT": 107, "WIDTH": 123},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, channels, kernel_size, stride, padding):
        super().__init__()
        self.conv2d = nn.Conv2d(
            channels, channels, kernel_size, stride=stride, padding=padding, groups=channels, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL, STRIDE, PADDING]
