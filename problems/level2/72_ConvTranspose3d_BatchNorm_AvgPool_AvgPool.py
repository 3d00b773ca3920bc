"""Three-dimensional transposed convolution, batch normalisation, and two rounds of average pooling.

    z[n, o] = transposed conv(x)[n, o], bias included
    g[n, o] = (z[n, o] - mean of channel o) / sqrt(variance of channel o + eps) * weight[o] + shift[o]
    y       = g averaged over blocks of 2 x 2 x 2, twice

Mean and variance (divided by the count) are those of the batch, over samples and positions; eps is 1e-5. Rows,
columns and planes left over by a pooling are dropped.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, D / 4, H / 4, W / 4), rounded down, with
D = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL, H and W alike.

The last init argument, a shape, is part of the interface; no parameter has it.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "transposed convolution"

BATCH = 64
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 32
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 16, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 5, "OUT_CHANNELS": 17, "DEPTH": 13, "HEIGHT": 17, "WIDTH": 21},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)
        self.batch_norm = nn.BatchNorm3d(out_channels)

    def forward(self, x):
        g = self.batch_norm(self.conv_transpose(x))
        halved = F.avg_pool3d(g, kernel_size=2)
        return F.avg_pool3d(halved, kernel_size=2)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, (OUT_CHANNELS, 1, 1, 1)]
