"""Two-dimensional convolution without padding, the minimum over the channels, then tanh twice.

    m[n] = minimum over o of conv(x)[n, o], bias included, at each position
    y[n] = tanh(tanh(m[n]))

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 16
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 3

FAMILY = "convolution"
SIZES = {
    "small": {"BATCH": 24, "HEIGHT": 48, "WIDTH": 48},
    "odd": {"BATCH": 21, "IN_CHANNELS": 13, "OUT_CHANNELS": 59, "HEIGHT": 45, "WIDTH": 51},
}
# Not "scaled": the minimum would be far below 0 everywhere, and tanh(tanh()) of it one constant.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        smallest = self.conv(x).min(dim=1, keepdim=True).values
        return torch.tanh(torch.tanh(smallest))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
