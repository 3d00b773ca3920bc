"""Convolution of each channel with a kernel of its own, then a linear map of the channels at every pixel.

    z[n, c, h, w] = sum over i, j of depthwise.weight[c, 0, i, j] * x[n, c, h - PADDING + i, w - PADDING + j]
    y[n, o, h, w] = sum over c of pointwise.weight[o, c, 0, 0] * z[n, c, h, w]

Positions outside x count as 0. Stride and dilation are 1; there is no bias.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 512
WIDTH = 512
KERNEL = 3
STRIDE = 1
PADDING = 1
DILATION = 1

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 3, "IN_CHANNELS": 61, "OUT_CHANNELS": 125, "HEIGHT": 79, "WIDTH": 91},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        self.depthwise = nn.Conv2d(
            in_channels, in_channels, kernel_size, stride=stride, padding=padding, dilation=dilation,
            groups=in_channels, bias=False)
        self.pointwise = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, DILATION]
