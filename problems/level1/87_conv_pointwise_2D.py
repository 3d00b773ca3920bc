"""Linear map of the channels at every pixel: a convolution with kernels of one pixel.

    y[n, o, h, w] = sum over c of weight[o, c, 0, 0] * x[n, c, h, w]

There is no bias. In spite of its name `conv1d.weight` is (OUT_CHANNELS, IN_CHANNELS, 1, 1).

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 1024
WIDTH = 1024

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 3, "IN_CHANNELS": 61, "OUT_CHANNELS": 125, "HEIGHT": 91, "WIDTH": 109},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x):
        return self.conv1d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
