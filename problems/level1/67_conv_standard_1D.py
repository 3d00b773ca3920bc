"""One-dimensional convolution without padding, stride or bias.

    y[n, o, l] = sum over c, i of weight[o, c, i] * x[n, c, l + i]

Input: x, (BATCH, IN_CHANNELS, LENGTH). Output: y, (BATCH, OUT_CHANNELS, LENGTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 32
IN_CHANNELS = 64
OUT_CHANNELS = 128
LENGTH = 131072
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 4, "LENGTH": 2048},
    "odd": {"BATCH": 5, "IN_CHANNELS": 61, "OUT_CHANNELS": 117, "LENGTH": 1997},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv1d = nn.Conv1d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv1d(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, LENGTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
