"""Three-dimensional convolution, leaky ReLU, a learned addend for each channel, clamping, then exact GELU.

    z[n, o] = conv(x)[n, o], bias included, no padding
    l[n, o] = z[n, o] where it is positive, else 0.2 * z[n, o]
    c[n, o] = l[n, o] + sum_tensor[o], clamped to [-1, 1]
    y       = c * (1 + erf(c / sqrt(2))) / 2

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, DEPTH - KERNEL + 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "convolution"

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
DEPTH = 16
HEIGHT = 64
WIDTH = 64
KERNEL = 3

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 8, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 7, "IN_CHANNELS": 7, "OUT_CHANNELS": 61, "DEPTH": 11, "HEIGHT": 27, "WIDTH": 29},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, sum_tensor_shape):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.sum_tensor = nn.Parameter(torch.randn(sum_tensor_shape))

    def forward(self, x):
        shifted = F.leaky_relu(self.conv(x), negative_slope=0.2) + self.sum_tensor
        return F.gelu(shifted.clamp(-1.0, 1.0))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, (OUT_CHANNELS, 1, 1, 1)]
