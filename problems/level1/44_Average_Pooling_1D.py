"""Mean of a window that slides over each channel of a signal.

    y[n, c, l] = 1 / KERNEL * sum over i < KERNEL of x[n, c, l * STRIDE - PADDING + i]

Positions outside the signal are 0 and count: the divisor is KERNEL at the ends too.

Input: x, (BATCH, CHANNELS, LENGTH).
Output: y, (BATCH, CHANNELS, OUT_LENGTH) with OUT_LENGTH = (LENGTH + 2 * PADDING - KERNEL) / STRIDE + 1, rounded down.
"""
import torch
import torch.nn as nn

BATCH = 64
CHANNELS = 128
LENGTH = 65536
KERNEL = 8
STRIDE = 1
PADDING = 4

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 8, "CHANNELS": 32, "LENGTH": 8192},
    "odd": {"BATCH": 7, "CHANNELS": 37, "LENGTH": 8187},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.AvgPool1d(kernel_size, stride, padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING]
