"""Two-dimensional transposed convolution with an oblong kernel, padded so that the image keeps its size.

    y[n, o, h, w] = sum over c, i, j of weight[c, o, i, j] * x[n, c, h + 1 - i, w + 3 - j]

where 1, 3 is PADDING. Positions outside x count as 0. The stride is 1; there is no bias.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 32
OUT_CHANNELS = 32
HEIGHT = 512
WIDTH = 1024
KERNEL = (3, 7)
STRIDE = (1, 1)
PADDING = (1, 3)

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 96, "WIDTH": 192},
    "odd": {"BATCH": 3, "IN_CHANNELS": 31, "OUT_CHANNELS": 29, "HEIGHT": 95, "WIDTH": 121},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=False)

    def forward(self, x):
        return self.conv_transpose2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING]
