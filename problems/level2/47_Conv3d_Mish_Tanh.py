"""Three-dimensional convolution without padding, then mish, then tanh.

    z = conv(x), bias included
    m = z * tanh(log(1 + exp(z)))
    y = tanh(m)

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, DEPTH - KERNEL + 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 32
HEIGHT = 64
WIDTH = 64
KERNEL = 3

SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 12, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 5, "IN_CHANNELS": 13, "OUT_CHANNELS": 29, "DEPTH": 11, "HEIGHT": 23, "WIDTH": 27},
}
# "scaled" reaches the tails: exp(z) overflows where log(1 + exp(z)) is not replaced by z.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        return torch.tanh(F.mish(self.conv(x)))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
