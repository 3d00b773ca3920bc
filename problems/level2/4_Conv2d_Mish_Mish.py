"""Two-dimensional convolution without padding, then the activation Mish twice.

    mish(t) = t * tanh(log(1 + exp(t)))
    y       = mish(mish(conv(x) + bias))

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 256
WIDTH = 256
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 16, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 15, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 35, "WIDTH": 37},
}
# "scaled" reaches the tails of Mish, where exp(t) overflows; natural inputs stay near 0.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        return F.mish(F.mish(self.conv(x)))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
