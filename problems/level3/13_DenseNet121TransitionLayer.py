"""Transition layer of DenseNet: batch normalisation, activation, 1x1 convolution, and pooling that halves the image.

    a = max(0, bn(x))
    z = conv1x1(a), without bias
    y[n, o, h, w] = mean of z[n, o, 2 h + i, 2 w + j] over i, j < 2

    bn(x)[n, c] = (x[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode. `transition.0` is bn, `transition.2` the convolution. A row or column that pooling leaves over is
dropped, but bn's statistics count it.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, HEIGHT / 2, WIDTH / 2), rounded down.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_CHANNELS = 32
OUT_CHANNELS = 64
HEIGHT = 256
WIDTH = 256

SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 7, "IN_CHANNELS": 35, "OUT_CHANNELS": 61, "HEIGHT": 87, "WIDTH": 93},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolutional network"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.transition = nn.Sequential(
            nn.BatchNorm2d(in_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.AvgPool2d(2),
        )

    def forward(self, x):
        return self.transition(x)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
