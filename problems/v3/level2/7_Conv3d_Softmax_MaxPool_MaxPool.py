"""Three-dimensional convolution, softmax over the channels of each voxel, and max pooling twice.

    z = conv(x), bias included, no padding
    s[n, o, d, h, w] = exp(z[n, o, d, h, w]) / sum over c of exp(z[n, c, d, h, w])
    y = pool(pool(s))

pool takes the largest value of each block of POOL x POOL x POOL voxels of a channel and drops what fills no block,
each time.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with OUT_DEPTH = (DEPTH - KERNEL + 1) / POOL / POOL,
rounded down each time, and OUT_HEIGHT and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 128
WIDTH = 128
KERNEL = 3
POOL = 2

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 40, "WIDTH": 40},
    "odd": {"BATCH": 5, "IN_CHANNELS": 5, "OUT_CHANNELS": 19, "DEPTH": 13, "HEIGHT": 37, "WIDTH": 31},
}
# Not "scaled": a softmax of large logits keeps only their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, pool_kernel_size):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.pool_kernel_size = pool_kernel_size

    def forward(self, x):
        s = torch.softmax(self.conv(x), dim=1)
        once = F.max_pool3d(s, self.pool_kernel_size)
        return F.max_pool3d(once, self.pool_kernel_size)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, POOL]
