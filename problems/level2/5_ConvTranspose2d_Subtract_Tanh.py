"""Two-dimensional transposed convolution, minus a bias for each channel, then tanh.

    y[n, o] = tanh(transposed conv(x)[n, o] - bias[o])

In the transposed convolution, which has a bias of its own, x[n, c, i] adds x[n, c, i] * weight[c, o, k] to channel o at
i * 2 - 1 + k, in both directions; its output padding is 1.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, 2 * HEIGHT + KERNEL - 3, 2 * WIDTH + KERNEL - 3).
"""
import torch
import torch.nn as nn

BATCH = 32
IN_CHANNELS = 64
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256
KERNEL = 4

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 32, "OUT_CHANNELS": 32, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 7, "IN_CHANNELS": 27, "OUT_CHANNELS": 35, "HEIGHT": 29, "WIDTH": 33},
}
# "scaled" reaches the tails of tanh.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape, stride=2, padding=1, output_padding=1):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, output_padding=output_padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return torch.tanh(self.conv_transpose(x) - self.bias)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, (OUT_CHANNELS, 1, 1)]
