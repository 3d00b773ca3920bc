"""Three-dimensional transposed convolution, scaled, batch-normalised, and averaged over all positions.

    z[n, o] = SCALE * transposed conv(x)[n, o], bias included, stride 1, no padding
    g[n, o] = (z[n, o] - mean of channel o) / sqrt(variance of channel o + eps) * weight[o] + shift[o]
    y[n, o] = mean over all positions of g[n, o]

Mean and variance (divided by the count) are those of the batch, over samples and positions; eps is 1e-5.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, 1, 1, 1).

Only what tells a sample from the average of the batch is left, so y is small and its mean over the samples is 0: add
up carefully.
"""
import torch
import torch.nn as nn

FAMILY = "transposed convolution"

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 5
SCALE = 2.0

SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 8, "HEIGHT": 12, "WIDTH": 12},
    "odd": {"BATCH": 7, "IN_CHANNELS": 13, "OUT_CHANNELS": 29, "DEPTH": 9, "HEIGHT": 11, "WIDTH": 13},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, scale_factor):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size)
        self.batch_norm = nn.BatchNorm3d(out_channels)
        self.scale_factor = scale_factor

    def forward(self, x):
        z = self.scale_factor * self.conv_transpose(x)
        return self.batch_norm(z).mean(dim=(2, 3, 4), keepdim=True)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, SCALE]
