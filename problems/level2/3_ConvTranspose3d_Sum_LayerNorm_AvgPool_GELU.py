"""Three-dimensional transposed convolution plus a scalar, layer normalisation of each row, average pooling and GELU.

    z = transposed conv(x) + sum_weight
    l = (z - mean of the row) / sqrt(variance of the row + eps) * weight[w] + bias[w]
    p = average of l over windows of 2 x 2 x 2 that do not overlap
    y = p / 2 * (1 + erf(p / sqrt(2)))

A row is what lies along the last axis, the width; weight and bias are `norm.weight` and `norm.bias`; eps is 1e-5.
In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at i * 2 - 1 + k, in all three
directions, with a kernel of 3 and an output padding of 1; this doubles each extent. It has a bias for each channel.
`sum_weight` is one number for all, which the normalisation takes away again.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, DEPTH, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = (3, 3, 3)
STRIDE = (2, 2, 2)
PADDING = (1, 1, 1)
OUTPUT_PADDING = (1, 1, 1)
SUM_WEIGHT = 1.0
POOL = (2, 2, 2)

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 13, "OUT_CHANNELS": 29, "DEPTH": 7, "HEIGHT": 15, "WIDTH": 19},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, sum_weight,
                 norm_shape, pool_kernel_size):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, output_padding=output_padding)
        self.sum_weight = nn.Parameter(torch.tensor(sum_weight))
        self.norm = nn.LayerNorm(norm_shape)
        self.pool = nn.AvgPool3d(pool_kernel_size)

    def forward(self, x):
        z = self.conv_transpose(x) + self.sum_weight
        return F.gelu(self.pool(self.norm(z)))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    row = 2 * WIDTH
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, SUM_WEIGHT, (row,), POOL]
