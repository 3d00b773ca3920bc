"""Three-dimensional transposed convolution whose result is added to, multiplied by and again added to itself.

    z = transposed conv(x), its own bias included
    y = ((z + bias[o]) + z) * z + z

In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at i * STRIDE - PADDING + k, in
all three directions.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH)
with OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 9, "IN_CHANNELS": 15, "OUT_CHANNELS": 27, "DEPTH": 7, "HEIGHT": 13, "WIDTH": 17},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, output_padding=output_padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        z = self.conv_transpose(x)
        return ((z + self.bias) + z) * z + z


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, (OUT_CHANNELS, 1, 1, 1)]
