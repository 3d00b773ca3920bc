"""Two-dimensional convolution, a gain for each channel, leaky ReLU, then exact GELU.

    s[n, o] = conv(x)[n, o] * multiplier[o]
    r = s where s > 0, else 0.01 * s
    y = r * (1 + erf(r / sqrt(2))) / 2

The convolution has a bias and no padding.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
IN_CHANNELS = 64
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 3

SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 32, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 7, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 61, "WIDTH": 69},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, multiplier_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.multiplier = nn.Parameter(torch.randn(multiplier_shape))

    def forward(self, x):
        return F.gelu(F.leaky_relu(self.conv(x) * self.multiplier))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, (OUT_CHANNELS, 1, 1)]
