"""Two-dimensional convolution with stride, padding and bias: the first layer of AlexNet.

    y[n, o, h, w] = bias[o] + sum over c, i, j of weight[o, c, i, j] * x[n, c, h * STRIDE - PADDING + i,
                                                                              w * STRIDE - PADDING + j]

Positions outside the image count as 0. The network's number of classes, CLASSES, is handed to the constructor and has
no effect.

Input: x, (BATCH, IN_CHANNELS, SIDE, SIDE). Output: y, (BATCH, OUT_CHANNELS, OUT_SIDE, OUT_SIDE) with
OUT_SIDE = (SIDE + 2 * PADDING - KERNEL) / STRIDE + 1, rounded down.
"""
import torch
import torch.nn as nn

BATCH = 256
IN_CHANNELS = 3
OUT_CHANNELS = 96
SIDE = 224
KERNEL = 11
STRIDE = 4
PADDING = 2
CLASSES = 1000

FAMILY = "convolution"
# Channels, kernel, stride and padding are the layer's own: the constructor does not take them.
SIZES = {
    "small": {"BATCH": 4},
    "odd": {"BATCH": 3, "SIDE": 217},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(IN_CHANNELS, OUT_CHANNELS, KERNEL, stride=STRIDE, padding=PADDING)

    def forward(self, x):
        return self.conv1(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [CLASSES]
