"""Grouped two-dimensional transposed convolution with stride, padding and dilation that differ between the axes.

For each channel c and each channel o of the same group, every input value adds its multiple of a kernel to y, which
starts at 0:

    y[n, o, 2 * h - 1 + 2 * i, 3 * w - 2 + j] += weight[c, o', i, j] * x[n, c, h, w]

where 2, 3 is STRIDE, 1, 2 is PADDING, 2, 1 is DILATION, and o' = o mod (OUT_CHANNELS / GROUPS); what falls outside y is
dropped. A group is IN_CHANNELS / GROUPS neighbouring channels of x and OUT_CHANNELS / GROUPS of y. There is no bias.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH), with
OUT_HEIGHT = (HEIGHT - 1) * STRIDE - 2 * PADDING + DILATION * (KERNEL - 1) + 1 and OUT_WIDTH alike.
Rows of y at an even index get nothing and are 0.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 256
KERNEL = (3, 5)
STRIDE = (2, 3)
PADDING = (1, 2)
DILATION = (2, 1)
GROUPS = 4

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 32, "WIDTH": 64},
    "odd": {"BATCH": 5, "IN_CHANNELS": 27, "OUT_CHANNELS": 51, "HEIGHT": 31, "WIDTH": 59, "GROUPS": 3},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups,
            bias=False)

    def forward(self, x):
        return self.conv_transpose2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, DILATION, GROUPS]
