"""Two-dimensional convolution, tanh, a constant factor, a bias for each channel, and max pooling.

    z[n, o] = conv(x)[n, o], the convolution's own bias included, no padding
    a[n, o] = SCALE * tanh(z[n, o]) + bias[o]
    y       = largest value of a in each block of POOL x POOL

Rows and columns left over by the pooling are dropped.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, (HEIGHT - KERNEL + 1) / POOL, (WIDTH - KERNEL + 1) / POOL), rounded down.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "convolution"

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 3
SCALE = 2.0
POOL = 4

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 7, "IN_CHANNELS": 9, "OUT_CHANNELS": 61, "HEIGHT": 59, "WIDTH": 67},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, scaling_factor, bias_shape, pool_kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scaling_factor = scaling_factor
        self.pool_kernel_size = pool_kernel_size

    def forward(self, x):
        activated = self.scaling_factor * torch.tanh(self.conv(x)) + self.bias
        return F.max_pool2d(activated, self.pool_kernel_size)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SCALE, (OUT_CHANNELS, 1, 1), POOL]
