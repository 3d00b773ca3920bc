"""Three-dimensional transposed convolution with stride and padding.

Every input value adds its multiple of a kernel to y, which starts at 0:

    y[n, o, S * d - P + i, S * h - P + j, S * w - P + k] += weight[c, o, i, j, k] * x[n, c, d, h, w]

where S is STRIDE and P is PADDING; what falls outside y is dropped. There is no bias.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH), with
OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL and the others alike.

The file name and the last init argument speak of groups, but every output channel sees every input channel: that
argument has no effect.
"""
import torch
import torch.nn as nn

BATCH = 4
IN_CHANNELS = 32
OUT_CHANNELS = 32
DEPTH = 32
HEIGHT = 64
WIDTH = 128
KERNEL = 3
STRIDE = 2
PADDING = 1
IGNORED_GROUPS = 4

SIZES = {
    "small": {"BATCH": 2, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 32},
    "odd": {"BATCH": 3, "IN_CHANNELS": 31, "OUT_CHANNELS": 29, "DEPTH": 7, "HEIGHT": 15, "WIDTH": 23},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, ignored_groups):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=False)

    def forward(self, x):
        return self.conv_transpose3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, IGNORED_GROUPS]
