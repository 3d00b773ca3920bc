"""Three-dimensional transposed convolution, a learned factor for each channel between two leaky ReLUs, and max pooling.

    z[n, o] = transposed conv(x)[n, o], bias included
    a[n, o] = leaky(multiplier[o] * leaky(z[n, o])),  leaky(t) = t where t > 0, else 0.2 * t
    y       = largest value of a in each block of 2 x 2 x 2

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, D / 2, H / 2, W / 2) with
D = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, H and W alike.

Some multipliers are negative, so the pooling cannot be moved before the multiplication.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "transposed convolution"

BATCH = 16
IN_CHANNELS = 16
OUT_CHANNELS = 32
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1

SIZES = {
    "small": {"BATCH": 4, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 13, "OUT_CHANNELS": 29, "DEPTH": 7, "HEIGHT": 17, "WIDTH": 19},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, multiplier_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding)
        self.multiplier = nn.Parameter(torch.randn(multiplier_shape))

    def forward(self, x):
        bent = F.leaky_relu(self.conv_transpose(x), negative_slope=0.2)
        bent_again = F.leaky_relu(bent * self.multiplier, negative_slope=0.2)
        return F.max_pool3d(bent_again, kernel_size=2)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, (OUT_CHANNELS, 1, 1, 1)]
