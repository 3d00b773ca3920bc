"""Two-dimensional convolution, a subtraction, tanh, another subtraction, and average pooling.

    t = tanh(conv(x) - BEFORE) - AFTER
    y[n, o, i, j] = mean over a, b < POOL of t[n, o, i * POOL + a, j * POOL + b]

The convolution has a bias and no padding. Rows and columns left over by the pooling are dropped.

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
BEFORE = 0.5
AFTER = 0.2
POOL = 2

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 19, "HEIGHT": 101, "WIDTH": 123},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, subtract1_value, subtract2_value, kernel_size_pool):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.subtract1_value = subtract1_value
        self.subtract2_value = subtract2_value
        self.kernel_size_pool = kernel_size_pool

    def forward(self, x):
        t = torch.tanh(self.conv(x) - self.subtract1_value) - self.subtract2_value
        return F.avg_pool2d(t, self.kernel_size_pool)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, BEFORE, AFTER, POOL]
