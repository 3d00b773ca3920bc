"""Transposed convolution, the smallest channel at each pixel, summed down each column, GELU, and a bias.

    z[n, h, w]    = min over o of tconv(x)[n, o, h, w], the convolution's own bias included
    s[n, w]       = sum over h of z[n, h, w]
    y[n, 0, 0, w] = s[n, w] * (1 + erf(s[n, w] / sqrt(2))) / 2 + bias

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, 1, 1, OUT_WIDTH) with
OUT_WIDTH = (WIDTH - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING. `bias` is a single number, (1, 1, 1).

The minimum over many channels is negative and there are many rows: with the usual inputs s is about -100, GELU makes
it 0, and every element equals the bias. Here each column of each sample is dimmed by a factor of its own and the
convolution's bias is a little above 0, so that s lies on both sides of 0.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 128
WIDTH = 128
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1
BRIGHTEST = 0.1

SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 48, "WIDTH": 48},
    "odd": {"BATCH": 5, "IN_CHANNELS": 29, "OUT_CHANNELS": 59, "HEIGHT": 45, "WIDTH": 51},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "transposed convolution"
FACTS_DIFFER = {
    "numbers": "columns differ in brightness and the convolution's bias is near 0.015; else the output is the bias",
}


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding)
        nn.init.uniform_(self.conv_transpose.bias, 0.01, 0.02)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        darkest = self.conv_transpose(x).amin(dim=1, keepdim=True)
        return F.gelu(darkest.sum(dim=2, keepdim=True)) + self.bias


def get_inputs():
    brightness = BRIGHTEST * torch.rand(BATCH, 1, 1, WIDTH)
    return [brightness * torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, (1, 1, 1)]
