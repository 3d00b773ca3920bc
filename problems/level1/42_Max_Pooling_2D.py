"""Largest value in a window that slides over each channel of an image.

    y[n, c, h, w] = max over i, j < KERNEL of x[n, c, h * STRIDE - PADDING + i * DILATION,
                                                      w * STRIDE - PADDING + j * DILATION]

Positions outside the image do not count: the padding is minus infinity, not 0.

Input: x, (BATCH, CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, OUT_HEIGHT, OUT_WIDTH) with
OUT_HEIGHT = (HEIGHT + 2 * PADDING - DILATION * (KERNEL - 1) - 1) / STRIDE + 1, rounded down, and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn

BATCH = 32
CHANNELS = 64
HEIGHT = 512
WIDTH = 512
KERNEL = 4
STRIDE = 1
PADDING = 1
DILATION = 1

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 8, "CHANNELS": 16, "HEIGHT": 48, "WIDTH": 48},
    "odd": {"BATCH": 7, "CHANNELS": 17, "HEIGHT": 43, "WIDTH": 51},
}
# "centred" first: only where a whole window is negative does padding with 0 show.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.maxpool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        return self.maxpool(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING, DILATION]
