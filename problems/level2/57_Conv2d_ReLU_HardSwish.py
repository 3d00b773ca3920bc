"""Two-dimensional convolution without padding, then ReLU, then hard swish.

    r = max(conv(x), 0), the convolution's bias included
    y = r * min(max((r + 3) / 6, 0), 1)

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 128
KERNEL = 3

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 13, "IN_CHANNELS": 11, "OUT_CHANNELS": 61, "HEIGHT": 61, "WIDTH": 69},
}
# "scaled" first: only there does r exceed 3, where y is r itself.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "convolution"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        r = torch.relu(self.conv(x))
        gate = torch.clamp((r + 3) / 6, 0, 1)
        return r * gate


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL]
