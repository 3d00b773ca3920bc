"""Transposed convolution of a volume, log-sum-exp over the channels, a smooth gate, less a bias, clamped to [-1, 1].

    s[n, 0] = log(sum over o of exp(tconv(x)[n, o]))
    g = s / (1 + exp(-(s + 3))) / 6
    y = min(max(g - bias, -1), 1)

The gate is a sigmoid, not the piecewise linear function that "hard swish" usually stands for. The convolution has a
bias of its own; `bias` is a single number.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, 1, OUT_DEPTH, OUT_HEIGHT, OUT_WIDTH) with OUT_DEPTH = (DEPTH - 1) * STRIDE - 2 * PADDING + KERNEL,
and the others alike.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
STRIDE = 2
PADDING = 1

SIZES = {
    "small": {"BATCH": 8, "DEPTH": 8, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 7, "IN_CHANNELS": 5, "OUT_CHANNELS": 13, "DEPTH": 9, "HEIGHT": 13, "WIDTH": 19},
}
# "scaled" first: with the usual inputs s is log(OUT_CHANNELS) to two digits, and the clamp may never act.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "transposed convolution"
PRECISIONS = ("fp32", "fp16")  # bf16 steps further than the results differ


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, bias_shape):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride, padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        s = torch.logsumexp(self.conv_transpose(x), dim=1, keepdim=True)
        gated = s * torch.sigmoid(s + 3) / 6
        return torch.clamp(gated - self.bias, -1, 1)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING, (1, 1, 1, 1)]
