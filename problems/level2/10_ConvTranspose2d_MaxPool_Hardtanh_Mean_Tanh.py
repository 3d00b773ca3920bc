"""Two-dimensional transposed convolution, max-pooled, clamped, averaged over each channel, then tanh.

    z       = transposed conv(x), bias included
    p       = maximum of z over windows of POOL x POOL, POOL_STRIDE apart
    y[n, o] = tanh(mean over all positions of clamp(p[n, o], LOWEST, HIGHEST))

In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at i * STRIDE - PADDING + k, in
both directions.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, 1, 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 3
STRIDE = 1
PADDING = 1
POOL = 2
POOL_STRIDE = 2
LOWEST = -1
HIGHEST = 1

FAMILY = "transposed convolution"
# Many small samples: the fewer positions an average has, the more the samples differ.
SIZES = {
    "small": {"BATCH": 96, "IN_CHANNELS": 32, "OUT_CHANNELS": 32, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 93, "IN_CHANNELS": 29, "OUT_CHANNELS": 35, "HEIGHT": 15, "WIDTH": 19},
}
# "scaled" first: natural inputs do not reach the clamp. Samples differ little after averaging, with all of them.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, pool_size, pool_stride,
                 lowest, highest):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.max_pool = nn.MaxPool2d(pool_size, stride=pool_stride)
        self.hardtanh = nn.Hardtanh(lowest, highest)

    def forward(self, x):
        clamped = self.hardtanh(self.max_pool(self.conv_transpose(x)))
        return torch.tanh(clamped.mean(dim=(2, 3), keepdim=True))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, POOL, POOL_STRIDE, LOWEST, HIGHEST]
