"""Three-dimensional convolution without padding, the minimum along one axis, and softmax over the channels.

    m       = minimum of conv(x) along depth, bias included
    y[n, o] = exp(m[n, o]) / sum over channels c of exp(m[n, c]), at each position

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). DIM 2 is the depth.
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 24
DEPTH = 24
HEIGHT = 32
WIDTH = 32
KERNEL = 3
DIM = 2

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 16, "DEPTH": 16, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 13, "IN_CHANNELS": 5, "OUT_CHANNELS": 21, "DEPTH": 13, "HEIGHT": 23, "WIDTH": 27},
}
# Not "scaled": a softmax of large logits keeps only their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, dim):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.dim = dim

    def forward(self, x):
        smallest = self.conv(x).min(dim=self.dim).values
        return torch.softmax(smallest, dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, DIM]
