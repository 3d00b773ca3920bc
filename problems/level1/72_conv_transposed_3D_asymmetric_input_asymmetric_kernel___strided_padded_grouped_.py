"""Grouped three-dimensional transposed convolution with stride, padding and a kernel of three different sides.

For each channel c and each channel o of the same group, every input value adds its multiple of a kernel to y, which
starts at 0:

    y[n, o, 2 * d - 1 + i, 2 * h - 2 + j, 2 * w - 3 + k] += weight[c, o', i, j, k] * x[n, c, d, h, w]

where 2, 2, 2 is STRIDE, 1, 2, 3 is PADDING, and o' = o mod (OUT_CHANNELS / GROUPS); what falls outside y is dropped.
A group is IN_CHANNELS / GROUPS neighbouring channels of x and OUT_CHANNELS / GROUPS of y. There is no bias.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH), with
OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING and the others alike: twice the input's sides.
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 32
OUT_CHANNELS = 32
DEPTH = 12
HEIGHT = 24
WIDTH = 48
KERNEL = (3, 5, 7)
STRIDE = (2, 2, 2)
PADDING = (1, 2, 3)
OUTPUT_PADDING = (1, 1, 1)
GROUPS = 4

SIZES = {
    "small": {"BATCH": 2, "DEPTH": 8, "HEIGHT": 12, "WIDTH": 24},
    "odd": {"BATCH": 3, "IN_CHANNELS": 27, "OUT_CHANNELS": 33, "DEPTH": 7, "HEIGHT": 11, "WIDTH": 21, "GROUPS": 3},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, groups):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, output_padding=output_padding,
            groups=groups, bias=False)

    def forward(self, x):
        return self.conv_transpose3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, GROUPS]
