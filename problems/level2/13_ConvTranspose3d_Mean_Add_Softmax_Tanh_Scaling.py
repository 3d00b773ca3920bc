"""Three-dimensional transposed convolution, averaged over depth, plus a bias, softmax over channels, tanh, and scaled.

    z[n, o] = transposed conv(x)[n, o], its own bias included
    m[n, o] = mean over depth of z[n, o] + bias[o]
    s[n, o] = exp(m[n, o]) / sum over channels c of exp(m[n, c]), at each position
    y       = SCALE * tanh(s)

In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to z[n, o] at i * STRIDE - PADDING + k, in
all three directions. With a kernel of 3, a stride of 1 and a padding of 1 extents do not change.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, 1, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 16
OUT_CHANNELS = 64
DEPTH = 32
HEIGHT = 128
WIDTH = 128
KERNEL = 3
STRIDE = 1
PADDING = 1
SCALE = 2.0

FAMILY = "transposed convolution"
# Little depth: the longer the mean, the less samples differ.
SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 8, "OUT_CHANNELS": 32, "DEPTH": 4, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 9, "IN_CHANNELS": 7, "OUT_CHANNELS": 29, "DEPTH": 5, "HEIGHT": 27, "WIDTH": 31},
}
# Not "scaled": a softmax of large logits keeps only their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")
COLLAPSES = "the mean over depth can be taken first, which leaves two-dimensional convolutions of its sum and its ends"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, scaling_factor):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.bias = nn.Parameter(torch.randn(1, out_channels, 1, 1, 1))
        self.scaling_factor = scaling_factor

    def forward(self, x):
        average = self.conv_transpose(x).mean(dim=2, keepdim=True)
        probabilities = torch.softmax(average + self.bias, dim=1)
        return torch.tanh(probabilities) * self.scaling_factor


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, SCALE]
