"""Three-dimensional convolution, divided, max-pooled, averaged over positions, plus a bias, and summed over channels.

    z       = conv(x) / DIVISOR, the convolution's own bias included
    p       = maximum of z over windows of POOL that do not overlap
    m[n, o] = mean over all positions of p[n, o]
    y[n]    = sum over o of (m[n, o] + bias[o])

What does not fill a pooling window at an end is dropped.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, 1, 1, 1).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 8
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 64
WIDTH = 64
KERNEL = (3, 3, 3)
DIVISOR = 2.0
POOL = (2, 2, 2)
SUM_DIM = 1

FAMILY = "convolution"
# Many small samples: the fewer positions an average has, the more the samples differ.
SIZES = {
    "small": {"BATCH": 160, "DEPTH": 8, "HEIGHT": 10, "WIDTH": 10},
    "odd": {"BATCH": 125, "IN_CHANNELS": 7, "OUT_CHANNELS": 19, "DEPTH": 7, "HEIGHT": 9, "WIDTH": 13},
}
# The average leaves samples that differ by a few hundredths; with "sparse" they differ most.
DISTRIBUTIONS = ("sparse", "centred", "scaled", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, divisor, pool_size, bias_shape, sum_dim):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.divisor = divisor
        self.max_pool = nn.MaxPool3d(pool_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.sum_dim = sum_dim

    def forward(self, x):
        pooled = self.max_pool(self.conv(x) / self.divisor)
        average = pooled.mean(dim=(-3, -2, -1), keepdim=True)
        return torch.sum(average + self.bias, dim=self.sum_dim)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, DIVISOR, POOL, (OUT_CHANNELS, 1, 1, 1), SUM_DIM]
