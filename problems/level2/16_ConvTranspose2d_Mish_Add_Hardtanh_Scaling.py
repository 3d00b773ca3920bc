"""Two-dimensional transposed convolution, Mish, plus a constant, clamped, and scaled.

    mish(t) = t * tanh(log(1 + exp(t)))
    y       = SCALE * clamp(mish(transposed conv(x)) + ADD, -1, 1)

In the transposed convolution, which has a bias for each channel, x[n, c, i] adds x[n, c, i] * weight[c, o, k] to
channel o at i * STRIDE - PADDING + k, in both directions.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH) with
OUT_HEIGHT = (HEIGHT - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 128
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1
ADD = 0.5
SCALE = 2

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 32, "OUT_CHANNELS": 32, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 7, "IN_CHANNELS": 27, "OUT_CHANNELS": 35, "HEIGHT": 29, "WIDTH": 33},
}
# "scaled" reaches the tails of Mish, where exp(t) overflows; natural inputs stay near 0.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, add_value, scale):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, output_padding=output_padding)
        self.add_value = add_value
        self.scale = scale

    def forward(self, x):
        shifted = F.mish(self.conv_transpose(x)) + self.add_value
        return F.hardtanh(shifted, -1, 1) * self.scale


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, ADD, SCALE]
