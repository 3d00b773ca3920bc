"""Largest of spread-out pixels under a window that moves over each channel of an image.

    y[n, c, h, w] = max over i, j < KERNEL of x[n, c, h * STRIDE - PADDING + i * DILATION,
                                                      w * STRIDE - PADDING + j * DILATION]

Positions outside the image do not count: the padding is minus infinity, not 0.

Input: x, (BATCH, CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, OUT_HEIGHT, OUT_WIDTH) with
OUT_HEIGHT = (HEIGHT + 2 * PADDING - DILATION * (KERNEL - 1) - 1) / STRIDE + 1, rounded down, and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 32
HEIGHT = 512
WIDTH = 512
KERNEL = 2
STRIDE = 2
PADDING = 1
DILATION = 3

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 3, "CHANNELS": 35, "HEIGHT": 117, "WIDTH": 141},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING, DILATION]
