"""Three-dimensional transposed convolution, max pooling, softmax over channels, subtraction, swish, largest channel.

    z       = transposed conv(x), bias included
    p       = largest value of z in each window of POOL x POOL x POOL, POOL_STRIDE apart, padded by POOL_PADDING
    s[n, o] = exp(p[n, o]) / sum over k of exp(p[n, k]), position by position
    d[n, o] = s[n, o] - subtract[o]
    y[n]    = max over o of d[n, o] / (1 + exp(-d[n, o])), position by position

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, D, H, W) with
D = (D' + 2 * POOL_PADDING - POOL) / POOL_STRIDE + 1, rounded down,
D' = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, H and W alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "transposed convolution"

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1
POOL = 2
POOL_STRIDE = 2
POOL_PADDING = 0

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 7, "OUT_CHANNELS": 17, "DEPTH": 7, "HEIGHT": 13, "WIDTH": 19},
}
# Inputs in [0, 1) leave every share near 1 / OUT_CHANNELS; only "scaled" shows what the softmax does, and its logits
# are still small enough to be well-conditioned. Not "centred" and "sparse": y would be nearly constant.
DISTRIBUTIONS = ("scaled", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding,
                 pool_kernel_size, pool_stride, pool_padding):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding)
        self.max_pool = nn.MaxPool3d(pool_kernel_size, pool_stride, pool_padding)
        self.subtract = nn.Parameter(torch.randn(out_channels))

    def forward(self, x):
        shares = torch.softmax(self.max_pool(self.conv_transpose(x)), dim=1)
        shifted = shares - self.subtract.view(1, -1, 1, 1, 1)
        return F.silu(shifted).amax(dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, POOL, POOL_STRIDE, POOL_PADDING]
