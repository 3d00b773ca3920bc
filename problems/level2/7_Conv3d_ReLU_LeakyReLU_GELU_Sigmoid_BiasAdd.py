"""Three-dimensional convolution without padding, four activations in a row, then a bias for each channel.

    r    = leaky(max(conv(x), 0)), where leaky(t) = max(t, 0.01 * t), which leaves the ReLU's results as they are
    g    = r / 2 * (1 + erf(r / sqrt(2)))
    y    = 1 / (1 + exp(-g)) + bias[o]

The convolution has a bias of its own, which is added before the ReLU.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, DEPTH - KERNEL + 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
IN_CHANNELS = 8
OUT_CHANNELS = 32
DEPTH = 32
HEIGHT = 64
WIDTH = 64
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 12, "DEPTH": 12, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 11, "IN_CHANNELS": 7, "OUT_CHANNELS": 29, "DEPTH": 11, "HEIGHT": 23, "WIDTH": 27},
}
# "scaled" first: natural inputs stay near 0, far from the tails, and the bias hides what little the activations leave.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        rectified = F.leaky_relu(F.relu(self.conv(x)), negative_slope=0.01)
        return torch.sigmoid(F.gelu(rectified)) + self.bias


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, (OUT_CHANNELS, 1, 1, 1)]
