"""Convolution of every slice of a volume with one square kernel, without padding, stride or bias.

    y[n, o, h, w, d] = sum over c, i, j of weight[o, c, i, j, 0] * x[n, c, h + i, w + j, d]

The kernel is KERNEL wide in the first two directions and 1 in the last, in which the slices follow one another; that
direction is contiguous in memory.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH, DEPTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1, DEPTH).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
DEPTH = 10
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 3, "IN_CHANNELS": 5, "OUT_CHANNELS": 61, "HEIGHT": 43, "WIDTH": 53, "DEPTH": 9},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv3d = nn.Conv3d(in_channels, out_channels, (kernel_size, kernel_size, 1), bias=False)

    def forward(self, x):
        return self.conv3d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH, DEPTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
