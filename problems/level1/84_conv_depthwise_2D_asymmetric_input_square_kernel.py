"""Two-dimensional convolution of each channel of a wide image with a kernel of its own.

    y[n, c, h, w] = sum over i, j of weight[c, 0, i, j] * x[n, c, h + i, w + j]

IN_CHANNELS and OUT_CHANNELS are equal. The stride is 1; there is no padding and no bias.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 64
IN_CHANNELS = 128
OUT_CHANNELS = 128
HEIGHT = 256
WIDTH = 512
KERNEL = 3
STRIDE = 1
PADDING = 0

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 64, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 125, "OUT_CHANNELS": 125, "HEIGHT": 63, "WIDTH": 123},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, groups=in_channels, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING]
