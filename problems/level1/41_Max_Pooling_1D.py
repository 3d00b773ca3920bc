"""Largest value in a window with gaps that slides over each channel of a signal.

    y[n, c, l] = max over i < KERNEL of x[n, c, l * STRIDE - PADDING + i * DILATION]

Positions outside the signal do not count: the padding is minus infinity, not 0.

Input: x, (BATCH, CHANNELS, LENGTH). Output: y, (BATCH, CHANNELS, OUT_LENGTH) with
OUT_LENGTH = (LENGTH + 2 * PADDING - DILATION * (KERNEL - 1) - 1) / STRIDE + 1, rounded down. Where the largest value
was found is not asked for (RETURN_INDICES is false).
"""
import torch
import torch.nn as nn

BATCH = 64
CHANNELS = 192
LENGTH = 65536
KERNEL = 8
STRIDE = 1
PADDING = 4
DILATION = 3
RETURN_INDICES = False

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 8, "CHANNELS": 32, "LENGTH": 8192},
    "odd": {"BATCH": 7, "CHANNELS": 37, "LENGTH": 8187},
}
# "centred" first: only where a whole window is negative does padding with 0 show.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation, return_indices):
        super().__init__()
        self.pool = nn.MaxPool1d(kernel_size, stride, padding, dilation, return_indices)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING, DILATION, RETURN_INDICES]
