"""Two-dimensional convolution, tanh, a constant factor, an offset for each channel, and max pooling.

    a[n, o] = SCALE * tanh(conv(x)[n, o]) + bias[o]
    y[n, o, i, j] = max over p, q < POOL of a[n, o, i * POOL + p, j * POOL + q]

The convolution has a bias of its own, `conv.bias`, and no padding. Rows and columns left over by the pooling are
dropped.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, (HEIGHT - KERNEL + 1) / POOL, (WIDTH - KERNEL + 1) / POOL), rounded down.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 16
HEIGHT = 256
WIDTH = 256
KERNEL = 3
SCALE = 2.0
POOL = 4

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 19, "HEIGHT": 101, "WIDTH": 123},
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
        a = self.scaling_factor * torch.tanh(self.conv(x)) + self.bias
        return F.max_pool2d(a, self.pool_kernel_size)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SCALE, (OUT_CHANNELS, 1, 1), POOL]
