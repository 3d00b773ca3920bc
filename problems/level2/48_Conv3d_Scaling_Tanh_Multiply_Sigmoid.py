"""Three-dimensional convolution, then tanh and sigmoid, each after a gain for every channel.

    t[n, o] = tanh(conv(x)[n, o] * scaling_factor[o])
    y[n, o] = 1 / (1 + exp(-t[n, o] * bias[o]))

`bias` is a factor, despite its name; the convolution has a bias of its own. The init argument SCALE is not used.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, DEPTH - KERNEL + 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 64
WIDTH = 64
KERNEL = 3
SCALE = 2

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 13, "DEPTH": 15, "HEIGHT": 29, "WIDTH": 35},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, scaling_factor, bias_shape):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.scaling_factor = nn.Parameter(torch.randn(bias_shape))
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        squashed = torch.tanh(self.conv(x) * self.scaling_factor)
        return torch.sigmoid(squashed * self.bias)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SCALE, (OUT_CHANNELS, 1, 1, 1)]
