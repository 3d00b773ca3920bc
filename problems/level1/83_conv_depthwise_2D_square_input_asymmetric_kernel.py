"""Convolution of each channel along its columns, with a kernel of its own.

    y[n, c, h, w] = sum over i of weight[c, 0, i, 0] * x[n, c, h + i, w]

The kernel is KERNEL high and 1 wide. The stride is 1; there is no padding, no dilation and no bias.

Input: x, (BATCH, CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, HEIGHT - KERNEL + 1, WIDTH).
"""
import torch
import torch.nn as nn

BATCH = 64
CHANNELS = 8
HEIGHT = 512
WIDTH = 512
KERNEL = 3
STRIDE = 1
PADDING = 0
DILATION = 1

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 192, "WIDTH": 192},
    "odd": {"BATCH": 13, "CHANNELS": 7, "HEIGHT": 181, "WIDTH": 203},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, channels, kernel_height, stride, padding, dilation):
        super().__init__()
        self.conv2d = nn.Conv2d(
            channels, channels, (kernel_height, 1), stride=stride, padding=padding, dilation=dilation, groups=channels,
            bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL, STRIDE, PADDING, DILATION]
