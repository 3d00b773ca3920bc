"""Three-dimensional transposed convolution, batch normalisation, minus the mean of each channel of each sample.

    z       = transposed conv(x), bias included
    b[n, o] = (z[n, o] - mean of channel o) / sqrt(variance of channel o + eps) * weight[o] + shift[o]
    y[n, o] = b[n, o] - mean over all positions of b[n, o]

Mean and variance of a channel are those of this batch, over all samples and positions: the module is in training mode.
The variance divides by the number of elements; eps is 1e-5; weight and shift are `batch_norm.weight` and
`batch_norm.bias`. In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at
i * STRIDE - PADDING + k, in all three directions.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH)
with OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 16
OUT_CHANNELS = 32
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 4, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 5, "IN_CHANNELS": 13, "OUT_CHANNELS": 27, "DEPTH": 7, "HEIGHT": 14, "WIDTH": 17},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.batch_norm = nn.BatchNorm3d(out_channels)

    def forward(self, x):
        normalised = self.batch_norm(self.conv_transpose(x))
        return normalised - normalised.mean(dim=(2, 3, 4), keepdim=True)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING]
