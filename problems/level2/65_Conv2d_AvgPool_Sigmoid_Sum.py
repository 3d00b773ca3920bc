"""Two-dimensional convolution, average pooling, sigmoid, and the sum of each sample.

    p[n, o] = mean of conv(x)[n, o] over each block of POOL x POOL pixels
    y[n] = sum over o and all blocks of 1 / (1 + exp(-p[n, o]))

The convolution has a bias and no padding. Blocks do not overlap, and what does not fill a block is left out.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH,).

The sum of so many numbers near 1/2 is the same for every sample. Here each channel of each sample has a
brightness of its own, so that samples differ.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 64
HEIGHT = 384
WIDTH = 384
KERNEL = 3
POOL = 4
CONTRAST = 6.0

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 13, "IN_CHANNELS": 11, "OUT_CHANNELS": 61, "HEIGHT": 57, "WIDTH": 67},
}
# Not "structured": neighbours cancel, and every sample gives the same.
DISTRIBUTIONS = ("centred", "scaled", "sparse")
FAMILY = "convolution"
PRECISIONS = ("fp32", "bf16")  # the sums exceed the largest number of fp16
COLLAPSES = "convolution and pooling are one convolution with stride POOL and a quarter of the multiplications"
FACTS_DIFFER = {
    "numbers": "channels differ in brightness from sample to sample; else every output is the same",
}


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, pool_kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.pool = nn.AvgPool2d(pool_kernel_size)

    def forward(self, x):
        return torch.sigmoid(self.pool(self.conv(x))).sum(dim=(1, 2, 3))


def get_inputs():
    brightness = CONTRAST * torch.randn(BATCH, IN_CHANNELS, 1, 1)
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH) + brightness]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, POOL]
