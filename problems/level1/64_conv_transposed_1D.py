"""Transposed one-dimensional convolution without padding, stride or bias.

    y[n, o, l] = sum over c, i of weight[c, o, i] * x[n, c, l - i]

Positions outside x count as 0. Weights come with the input channel first.

Input: x, (BATCH, IN_CHANNELS, LENGTH). Output: y, (BATCH, OUT_CHANNELS, LENGTH + KERNEL - 1).
"""
import torch
import torch.nn as nn

BATCH = 64
IN_CHANNELS = 128
OUT_CHANNELS = 128
LENGTH = 65536
KERNEL = 3

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 4, "LENGTH": 1024},
    "odd": {"BATCH": 5, "IN_CHANNELS": 125, "OUT_CHANNELS": 117, "LENGTH": 1019},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv1d_transpose = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        return self.conv1d_transpose(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, LENGTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
