"""Two-dimensional convolution of a tall image with a wide kernel, without padding, stride or bias.

    y[n, o, h, w] = sum over c, i, j of weight[o, c, i, j] * x[n, c, h + i, w + j]

with i < KERNEL_HEIGHT and j < KERNEL_WIDTH.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL_HEIGHT + 1, WIDTH - KERNEL_WIDTH + 1).
"""
import torch
import torch.nn as nn

BATCH = 8
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 512
WIDTH = 256
KERNEL_HEIGHT = 5
KERNEL_WIDTH = 7

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 32, "WIDTH": 24},
    "odd": {"BATCH": 3, "IN_CHANNELS": 61, "OUT_CHANNELS": 117, "HEIGHT": 23, "WIDTH": 19},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv2d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, (KERNEL_HEIGHT, KERNEL_WIDTH)]
