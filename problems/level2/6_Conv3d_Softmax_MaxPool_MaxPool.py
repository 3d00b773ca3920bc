"""Three-dimensional convolution without padding, softmax over the channels, and max pooling twice.

    z        = conv(x), bias included
    s[n, o]  = exp(z[n, o]) / sum over channels c of exp(z[n, c]), at each position
    y        = max pooling of (max pooling of s)

Both poolings take windows of POOL x POOL x POOL that do not overlap; what does not fill a window at an end is dropped,
after the first pooling and again after the second.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH)
with OUT_DEPTH = (DEPTH - KERNEL + 1) / POOL / POOL, each division rounded down, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
POOL = 2

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 16, "DEPTH": 12, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 19, "IN_CHANNELS": 5, "OUT_CHANNELS": 13, "DEPTH": 11, "HEIGHT": 23, "WIDTH": 27},
}
# Not "scaled": a softmax of large logits keeps only their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, pool_kernel_size):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.pool = nn.MaxPool3d(pool_kernel_size)

    def forward(self, x):
        probabilities = torch.softmax(self.conv(x), dim=1)
        return self.pool(self.pool(probabilities))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, POOL]
