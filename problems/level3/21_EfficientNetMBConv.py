"""Inverted bottleneck of EfficientNet: convolutions 1x1 to more channels, depthwise, and 1x1 to fewer channels.

    e = act(conv1x1(x))                           EXPANSION * IN_CHANNELS channels;  act(z) = min(6, max(0, bn(z)))
    d = act(depthwise(e))                         KERNEL x KERNEL, stride STRIDE, padding (KERNEL - 1) / 2
    y = bn(conv1x1(d))                            OUT_CHANNELS channels

A depthwise convolution has one filter for each channel. No convolution has a bias. There is no shortcut: input and
output differ in shape.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT / STRIDE, WIDTH / STRIDE), rounded up.
"""
import torch
import torch.nn as nn

BATCH = 10
IN_CHANNELS = 112
OUT_CHANNELS = 192
HEIGHT = 224
WIDTH = 224
KERNEL = 5
STRIDE = 2
EXPANSION = 6

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 3, "IN_CHANNELS": 51, "OUT_CHANNELS": 93, "HEIGHT": 37, "WIDTH": 43, "EXPANSION": 5},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolutional network"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, expand_ratio):
        super().__init__()
        hidden = expand_ratio * in_channels
        self.expand_conv = nn.Sequential(
            nn.Conv2d(in_channels, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
        )
        self.depthwise_conv = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel_size, stride, padding=(kernel_size - 1) // 2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
        )
        self.project_conv = nn.Sequential(
            nn.Conv2d(hidden, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
        )

    def forward(self, x):
        return self.project_conv(self.depthwise_conv(self.expand_conv(x)))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, EXPANSION]
