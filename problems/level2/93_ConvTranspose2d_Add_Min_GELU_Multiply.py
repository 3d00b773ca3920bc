"""Two-dimensional transposed convolution, a constant added, the minimum with 0, exact GELU, and a constant factor.

    z = transposed conv(x), bias included, no padding
    m = min(z + ADDEND, 0)
    y = FACTOR * m * (1 + erf(m / sqrt(2))) / 2

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, H, W) with
H = (HEIGHT - 1) * STRIDE + KERNEL, W alike.

For inputs in [0, 1) hardly any z is below -ADDEND, and nearly every output is 0. Here each sample has a contrast of
its own between 6 and 18, so that a good part of z is.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "transposed convolution"

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 64
WIDTH = 64
KERNEL = 4
STRIDE = 2
ADDEND = 0.5
FACTOR = 2.0

SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 7, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 27, "WIDTH": 35},
}
# Not "scaled" and "sparse": with z far from 0 or all near it, nearly every output is 0 again.
DISTRIBUTIONS = ("centred", "structured")
FACTS_DIFFER = {
    "numbers": "samples are 6 to 18 times brighter, so that the minimum with 0 does not turn nearly all into 0",
}


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, add_value, multiply_value):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride)
        self.add_value = add_value
        self.multiply_value = multiply_value

    def forward(self, x):
        negative_part = (self.conv_transpose(x) + self.add_value).clamp(max=0.0)
        return F.gelu(negative_part) * self.multiply_value


def get_inputs():
    contrast = 6 + 12 * torch.rand(BATCH, 1, 1, 1)
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH) * contrast]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, ADDEND, FACTOR]
