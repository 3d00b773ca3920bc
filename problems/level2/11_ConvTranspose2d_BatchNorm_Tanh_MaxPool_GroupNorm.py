"""Two-dimensional transposed convolution, batch normalisation, tanh, max pooling, and normalisation of channel groups.

    z       = transposed conv(x), bias included
    b[n, o] = (z[n, o] - mean of channel o) / sqrt(variance of channel o + eps)
              * batch_norm.weight[o] + batch_norm.bias[o]
    p       = maximum of tanh(b) over windows of 2 x 2 that do not overlap
    y[n, o] = (p[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps)
              * group_norm.weight[o] + group_norm.bias[o]

Mean and variance of a channel are those of this batch, over all samples and positions: the module is in training mode.
A group is OUT_CHANNELS / GROUPS neighbouring channels at all positions of one sample. Variances divide by the number of
elements; both eps are 1e-5. In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at
i * STRIDE - PADDING + k, in both directions.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, OUT_HEIGHT, OUT_WIDTH) with
OUT_HEIGHT = ((HEIGHT - 1) * STRIDE - 2 * PADDING + KERNEL) / 2, rounded down, and OUT_WIDTH alike.
"""
import torch
import torch.nn as nn

BATCH = 512
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 32
WIDTH = 32
KERNEL = 5
STRIDE = 1
PADDING = 1
GROUPS = 8

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 32, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 27, "IN_CHANNELS": 27, "OUT_CHANNELS": 63, "HEIGHT": 15, "WIDTH": 19, "GROUPS": 7},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    # The number of groups is given twice; the convolution itself has no groups.
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, groups, num_groups):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.batch_norm = nn.BatchNorm2d(out_channels)
        self.max_pool = nn.MaxPool2d(2)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        activated = torch.tanh(self.batch_norm(self.conv_transpose(x)))
        return self.group_norm(self.max_pool(activated))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, GROUPS, GROUPS]
