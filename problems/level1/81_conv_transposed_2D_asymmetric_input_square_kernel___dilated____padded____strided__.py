"""Two-dimensional transposed convolution with stride, padding and a dilated kernel, where no two kernels overlap.

Every input value adds its multiple of a kernel to y, which starts at 0:

    y[n, o, S * h - P + D * i, S * w - P + D * j] += weight[c, o, i, j] * x[n, c, h, w]

where S is STRIDE, P is PADDING and D is DILATION; what falls outside y is dropped. There is no bias. Different (h, i)
reach different rows and different (w, j) different columns, so no two positions of x meet in y, and most of y is 0.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH), with
OUT_HEIGHT = (HEIGHT - 1) * STRIDE - 2 * PADDING + DILATION * (KERNEL - 1) + 1 and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
HEIGHT = 64
WIDTH = 128
KERNEL = 3
STRIDE = 5
PADDING = 1
DILATION = 2

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 24, "WIDTH": 48},
    "odd": {"BATCH": 3, "IN_CHANNELS": 31, "OUT_CHANNELS": 61, "HEIGHT": 23, "WIDTH": 45},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "transposed convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=False)

    def forward(self, x):
        return self.conv_transpose2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, DILATION]
