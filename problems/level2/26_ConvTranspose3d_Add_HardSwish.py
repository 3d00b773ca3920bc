"""Three-dimensional transposed convolution plus a second input, times its own hard swish.

    z            = transposed conv(x) + add_input, the convolution's bias included
    hardswish(t) = t * clamp(t + 3, 0, 6) / 6
    y            = z * hardswish(z)

In the transposed convolution x[n, c, i] adds x[n, c, i] * weight[c, o, k] to channel o at i * STRIDE - PADDING + k, in
all three directions. The module has a parameter `bias`, (OUT_CHANNELS, 1, 1, 1, 1), which it does not use.

Inputs: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH), and add_input, of the shape of the output.
Output: y, (BATCH, OUT_CHANNELS, STRIDE * DEPTH, STRIDE * HEIGHT, STRIDE * WIDTH).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 16
HEIGHT = 16
WIDTH = 16
KERNEL = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1

FAMILY = "transposed convolution"
SIZES = {
    "small": {"BATCH": 4, "IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 12, "HEIGHT": 12, "WIDTH": 12},
    "odd": {"BATCH": 7, "IN_CHANNELS": 15, "OUT_CHANNELS": 29, "DEPTH": 9, "HEIGHT": 11, "WIDTH": 13},
}
# "scaled" reaches what lies outside of -3 to 3, where hard swish is no longer a parabola.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, output_padding=output_padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x, add_input):
        z = self.conv_transpose(x) + add_input
        return z * F.hardswish(z)


def get_inputs():
    x = torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)
    add_input = torch.rand(BATCH, OUT_CHANNELS, STRIDE * DEPTH, STRIDE * HEIGHT, STRIDE * WIDTH)
    return [x, add_input]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, (OUT_CHANNELS, 1, 1, 1, 1)]
