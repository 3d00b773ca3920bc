"""Two-dimensional transposed convolution plus a bias for each channel, clamped, scaled, clamped again and divided.

    z[n, o] = transposed conv(x)[n, o], its own bias included
    u       = clamp(z + bias[o], 0, 1)
    y       = clamp(SCALE * u, 0, 1) / SCALE

In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at i * STRIDE - PADDING + k,
in both directions.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH) with
OUT_HEIGHT = (HEIGHT - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 128
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1
SCALE = 2.0

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 32, "OUT_CHANNELS": 32, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 13, "IN_CHANNELS": 29, "OUT_CHANNELS": 37, "HEIGHT": 27, "WIDTH": 31},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape, scale):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, output_padding=output_padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scale = scale

    def forward(self, x):
        clamped = (self.conv_transpose(x) + self.bias).clamp(0, 1)
        return (clamped * self.scale).clamp(0, 1) / self.scale


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, (OUT_CHANNELS, 1, 1), SCALE]
