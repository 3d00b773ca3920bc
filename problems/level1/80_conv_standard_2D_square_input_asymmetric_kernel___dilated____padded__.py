"""Two-dimensional convolution with an oblong kernel whose dilation and padding differ between the axes.

    y[n, o, h, w] = sum over c, i, j of weight[o, c, i, j] * x[n, c, h - 2 + 2 * i, w - 4 + 3 * j]

where 2, 4 is PADDING and 2, 3 is DILATION. Positions outside x count as 0. The stride is 1; there is no bias.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH), with
OUT_HEIGHT = HEIGHT + 2 * PADDING - DILATION * (KERNEL - 1) and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 32
OUT_CHANNELS = 64
HEIGHT = 512
WIDTH = 512
KERNEL = (5, 9)
STRIDE = 1
PADDING = (2, 4)
DILATION = (2, 3)

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 80, "WIDTH": 80},
    "odd": {"BATCH": 3, "IN_CHANNELS": 31, "OUT_CHANNELS": 61, "HEIGHT": 61, "WIDTH": 83},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, DILATION]
