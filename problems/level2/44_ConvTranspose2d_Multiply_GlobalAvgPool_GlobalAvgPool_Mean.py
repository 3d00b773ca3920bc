"""Transposed convolution, a constant factor, and the mean of each channel.

    y[n, o, 0, 0] = mean over h, w of ( MULTIPLIER * tconv(x)[n, o, h, w] )

The mean is taken twice; the second one, over a single pixel, changes nothing.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, 1, 1). The convolved image, bias
included, has (HEIGHT - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING rows, and columns alike.

The mean of so many uniform numbers is always 1/2. Here each channel of each sample has a brightness of its own, so that
samples differ.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 128
WIDTH = 128
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1
MULTIPLIER = 0.5
CONTRAST = 1.0

SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 48, "WIDTH": 48},
    "odd": {"BATCH": 5, "IN_CHANNELS": 29, "OUT_CHANNELS": 59, "HEIGHT": 45, "WIDTH": 51},
}
# Not "structured": neighbours cancel, and what is left is the bias.
DISTRIBUTIONS = ("centred", "scaled", "sparse")
FAMILY = "transposed convolution"
COLLAPSES = "the mean of the convolved image needs only the sums of the filters and of the input and its edges"
FACTS_DIFFER = {
    "numbers": "channels differ in brightness from sample to sample; else samples hardly differ",
}


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, multiplier):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding)
        self.multiplier = multiplier

    def forward(self, x):
        means = (self.conv_transpose(x) * self.multiplier).mean(dim=(2, 3), keepdim=True)
        return means.mean(dim=(2, 3), keepdim=True)


def get_inputs():
    brightness = CONTRAST * torch.randn(BATCH, IN_CHANNELS, 1, 1)
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH) + brightness]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, MULTIPLIER]
