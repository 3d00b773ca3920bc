"""Two-dimensional convolution without padding, minus a constant, hard swish, max pooling and Mish.

    z = conv(x) - SUBTRACT, bias included
    h = z * clamp(z + 3, 0, 6) / 6
    p = maximum of h over windows of POOL x POOL that do not overlap
    y = p * tanh(log(1 + exp(p)))

What does not fill a pooling window at an end is dropped. Hard swish is not monotonic: it cannot be moved behind the
maximum.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH) with
OUT_HEIGHT = (HEIGHT - KERNEL + 1) / POOL, rounded down, and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 128
WIDTH = 128
KERNEL = 3
SUBTRACT = 0.5
POOL = 2

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 16, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 15, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 35, "WIDTH": 37},
}
# "scaled" reaches what lies outside of -3 to 3, and the tails of Mish; natural inputs stay near 0.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, subtract_value, pool_kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.subtract_value = subtract_value
        self.pool = nn.MaxPool2d(pool_kernel_size)

    def forward(self, x):
        activated = F.hardswish(self.conv(x) - self.subtract_value)
        return F.mish(self.pool(activated))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SUBTRACT, POOL]
