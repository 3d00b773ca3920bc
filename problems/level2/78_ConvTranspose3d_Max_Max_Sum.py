"""Three-dimensional transposed convolution, two rounds of max pooling, and the sum over the channels.

    z = transposed conv(x), bias included
    p = largest value of z in each block of 2 x 2 x 2
    q = largest value of p in each block of 3 x 3 x 3
    y[n, 0] = sum over o of q[n, o]

Rows, columns and planes left over by a pooling are dropped.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, 1, D / 6, H / 6, W / 6) rounded down, with
D = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL, H and W alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "transposed convolution"

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 32
HEIGHT = 32
WIDTH = 32
KERNEL = 5
STRIDE = 2
PADDING = 2

SIZES = {
    "small": {"BATCH": 2, "IN_CHANNELS": 8, "OUT_CHANNELS": 32, "DEPTH": 16, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 3, "IN_CHANNELS": 7, "OUT_CHANNELS": 29, "DEPTH": 11, "HEIGHT": 13, "WIDTH": 15},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)

    def forward(self, x):
        pooled_by_2 = F.max_pool3d(self.conv_transpose(x), kernel_size=2)
        pooled_by_6 = F.max_pool3d(pooled_by_2, kernel_size=3)
        return pooled_by_6.sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING]
