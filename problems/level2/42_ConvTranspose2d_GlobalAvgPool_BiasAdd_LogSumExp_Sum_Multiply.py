"""Transposed convolution, the mean of each channel, a bias, and ten times the log-sum-exp over the channels.

    m[n, o] = mean over h, w of tconv(x)[n, o, h, w], the convolution's own bias included
    y[n, 0] = FACTOR * log(sum over o of exp(m[n, o] + bias[o]))

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, 1). The convolved image, without stride or padding,
is KERNEL - 1 larger than x in both directions. After the means the image has one pixel, and the sum over height and
width that follows the log-sum-exp has one term.

The mean of so many uniform numbers is always 1/2. Here each channel of each sample has a brightness of its own, so that
samples differ.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 512
WIDTH = 512
KERNEL = 3
FACTOR = 10.0
CONTRAST = 8.0

SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 5, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 57, "WIDTH": 67},
}
# Not "structured": neighbours cancel, and every sample gives the same.
DISTRIBUTIONS = ("centred", "scaled", "sparse")
FAMILY = "transposed convolution"
COLLAPSES = "the mean of the convolved image needs only the sum of every input channel and of every filter"
FACTS_DIFFER = {
    "numbers": "channels differ in brightness from sample to sample; else every output is the same",
}


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        means = self.conv_transpose(x).mean(dim=(2, 3), keepdim=True)
        smooth_maximum = torch.logsumexp(means + self.bias, dim=1, keepdim=True)
        return FACTOR * smooth_maximum.sum(dim=(2, 3))


def get_inputs():
    brightness = CONTRAST * torch.randn(BATCH, IN_CHANNELS, 1, 1)
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH) + brightness]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, (OUT_CHANNELS, 1, 1)]
