"""Three-dimensional transposed convolution with stride, padding and a dilated kernel.

Every input value adds its multiple of a kernel to y, which starts at 0:

    y[n, o, S * d - P + D * i, S * h - P + D * j, S * w - P + D * k] += weight[c, o, i, j, k] * x[n, c, d, h, w]

where S is STRIDE, P is PADDING and D is DILATION; what falls outside y is dropped. There is no bias.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH), with
OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + DILATION * (KERNEL - 1) + 1 and the others alike.
Only positions whose three indices are all odd get anything: seven eighths of y are 0.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1
DILATION = 2

SIZES = {
    "small": {"BATCH": 2, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 31, "OUT_CHANNELS": 61, "DEPTH": 7, "HEIGHT": 11, "WIDTH": 15},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=False)

    def forward(self, x):
        return self.conv_transpose3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, DILATION]
