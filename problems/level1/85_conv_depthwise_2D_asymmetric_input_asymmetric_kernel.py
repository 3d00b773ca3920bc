"""Two-dimensional convolution of each channel of a wide image with an oblong kernel of its own.

    y[n, c, h, w] = sum over i, j of weight[c, 0, i, j] * x[n, c, h + i, w + j]

IN_CHANNELS, OUT_CHANNELS and GROUPS are equal. Both strides and dilations are 1; there is no padding and no bias.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL_HEIGHT + 1, WIDTH - KERNEL_WIDTH + 1).
"""
import torch
import torch.nn as nn

BATCH = 32
IN_CHANNELS = 128
OUT_CHANNELS = 128
HEIGHT = 128
WIDTH = 256
KERNEL_HEIGHT = 3
KERNEL_WIDTH = 7
STRIDE_DOWN = 1
STRIDE_ACROSS = 1
PADDING_ABOVE = 0
PADDING_BESIDE = 0
DILATION_DOWN = 1
DILATION_ACROSS = 1
GROUPS = 128

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 64, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 125, "OUT_CHANNELS": 125, "GROUPS": 125, "HEIGHT": 59, "WIDTH": 123},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_height, kernel_width, stride_down, stride_across,
                 padding_above, padding_beside, dilation_down, dilation_across, groups):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels, out_channels, (kernel_height, kernel_width), stride=(stride_down, stride_across),
            padding=(padding_above, padding_beside), dilation=(dilation_down, dilation_across), groups=groups,
            bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_HEIGHT, KERNEL_WIDTH, STRIDE_DOWN, STRIDE_ACROSS,
            PADDING_ABOVE, PADDING_BESIDE, DILATION_DOWN, DILATION_ACROSS, GROUPS]
