"""Two-dimensional convolution, tanh between two subtractions, then average pooling.

    t = tanh(conv(x) - SUBTRACT_BEFORE) - SUBTRACT_AFTER
    y[n, o, i, j] = mean of t[n, o] over the block of POOL x POOL pixels that starts at (i * POOL, j * POOL)

The convolution has a bias and no padding. Blocks do not overlap, and what does not fill a block is left out.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, (HEIGHT - KERNEL + 1) / POOL, (WIDTH - KERNEL + 1) / POOL), rounded down.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 128
WIDTH = 128
KERNEL = 3
SUBTRACT_BEFORE = 0.5
SUBTRACT_AFTER = 0.2
POOL = 2

SIZES = {
    "small": {"BATCH": 16, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 13, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 35, "WIDTH": 37},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, subtract1_value, subtract2_value, kernel_size_pool):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.before, self.after = subtract1_value, subtract2_value
        self.pool = nn.AvgPool2d(kernel_size_pool)

    def forward(self, x):
        squashed = torch.tanh(self.conv(x) - self.before)
        return self.pool(squashed - self.after)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SUBTRACT_BEFORE, SUBTRACT_AFTER, POOL]
