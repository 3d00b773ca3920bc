"""Transposed convolution of a volume, softmax over the channels, then sigmoid.

    z = tconv(x), bias included
    p[n, o, i] = exp(z[n, o, i]) / sum over channels k of exp(z[n, k, i])
    y = 1 / (1 + exp(-p))

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with
OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1

SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 5, "IN_CHANNELS": 13, "OUT_CHANNELS": 29, "DEPTH": 7, "HEIGHT": 13, "WIDTH": 17},
}
# "scaled" first: with the usual inputs each share is near 1 / OUT_CHANNELS and the sigmoid near 1/2.
DISTRIBUTIONS = ("scaled", "structured")
FAMILY = "transposed convolution"
PRECISIONS = ("fp32",)  # near 1/2 fp16 and bf16 step further than the results differ


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding)

    def forward(self, x):
        shares = torch.softmax(self.conv_transpose(x), dim=1)
        return torch.sigmoid(shares)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING]
