"""Three-dimensional transposed convolution, a constant factor, max pooling, the mean over all positions, clamping.

    z       = SCALE * transposed conv(x), bias included
    p       = largest value of z in each block of POOL x POOL x POOL
    y[n, o] = mean over all positions of p[n, o], clamped to [0, 1]

Rows, columns and planes left over by the pooling are dropped.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, 1, 1, 1). The transposed
convolution leaves (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL planes, rows and columns alike.
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
SCALE = 0.5
POOL = 2

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 7, "OUT_CHANNELS": 17, "DEPTH": 9, "HEIGHT": 13, "WIDTH": 19},
}
# Not "scaled": the clamp would turn every answer into 1.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, scale, maxpool_kernel_size):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)
        self.scale = scale
        self.maxpool_kernel_size = maxpool_kernel_size

    def forward(self, x):
        pooled = F.max_pool3d(self.scale * self.conv_transpose(x), self.maxpool_kernel_size)
        return pooled.mean(dim=(2, 3, 4), keepdim=True).clamp(0.0, 1.0)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, SCALE, POOL]
