"""Three-dimensional transposed convolution, layer normalisation of each row, GELU, and scaled.

    z = transposed conv(x), bias included
    l = (z - mean of the row) / sqrt(variance of the row + EPS) * weight[w] + shift[w]
    y = SCALE * l / 2 * (1 + erf(l / sqrt(2)))

A row is what lies along the last axis, the width, not the channels: weight and shift, which are `layer_norm.weight` and
`layer_norm.bias`, have OUT_CHANNELS elements, and the width of z must be OUT_CHANNELS too. The variance divides by the
number of elements. In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at
i * STRIDE - PADDING + k, in all three directions; with a kernel of 4, a stride of 2 and a padding of 1 extents double.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, 2 * DEPTH, 2 * HEIGHT, 2 * WIDTH).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
IN_CHANNELS = 32
OUT_CHANNELS = 64  # 2 * WIDTH
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 4
STRIDE = 2
PADDING = 1
BIAS = True
EPS = 1e-5
SCALE = 1.0

FAMILY = "transposed convolution"
# The odd size scales by something else than 1, which would not show.
SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 13, "OUT_CHANNELS": 38, "DEPTH": 7, "HEIGHT": 15, "WIDTH": 19, "SCALE": 1.25},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias, eps, scaling_factor):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, bias=bias)
        self.layer_norm = nn.LayerNorm(out_channels, eps=eps)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return F.gelu(self.layer_norm(self.conv_transpose(x))) * self.scaling_factor


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, BIAS, EPS, SCALE]
