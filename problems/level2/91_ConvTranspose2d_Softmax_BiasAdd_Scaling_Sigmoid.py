"""Two-dimensional transposed convolution, softmax over the channels, a bias, a constant factor, then sigmoid.

    z       = transposed conv(x), its own bias included
    s[n, o] = exp(z[n, o]) / sum over k of exp(z[n, k]), position by position
    y[n, o] = 1 / (1 + exp(-SCALE * (s[n, o] + bias[o])))

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, H, W) with
H = (HEIGHT - 1) * STRIDE - 2 * PADDING + KERNEL + OUTPUT_PADDING, W alike.
"""
import torch
import torch.nn as nn

FAMILY = "transposed convolution"

BATCH = 128
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 64
WIDTH = 64
KERNEL = 4
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 1
SCALE = 2.0

SIZES = {
    "small": {"BATCH": 8, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 7, "IN_CHANNELS": 29, "OUT_CHANNELS": 61, "HEIGHT": 27, "WIDTH": 35},
}
# Inputs in [0, 1) leave every share near 1 / OUT_CHANNELS; only "scaled" shows what the softmax does, and its logits
# are still small enough to be well-conditioned.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape,
                 scaling_factor):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride, padding, output_padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scaling_factor = scaling_factor

    def forward(self, x):
        shares = torch.softmax(self.conv_transpose(x), dim=1)
        return torch.sigmoid(self.scaling_factor * (shares + self.bias))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, OUTPUT_PADDING, (OUT_CHANNELS, 1, 1), SCALE]
