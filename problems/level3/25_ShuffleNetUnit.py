"""Unit of ShuffleNet: grouped 1x1, depthwise and grouped 1x1 convolution with a channel shuffle, added to a projection.

    a = max(0, bn1(conv1(x)))                1x1 in GROUPS groups, to M = OUT_CHANNELS / 4 channels, rounded down
    d = bn2(conv2(a))                        one 3x3 filter for each channel, padding 1, no activation after it
    s = d with channels shuffled             s[n, j * GROUPS + g] = d[n, g * M / GROUPS + j]
    y = max(0, bn3(conv3(s))) + bn(conv1x1(x))     conv3: 1x1 in GROUPS groups; the 1x1, `shortcut.0`, is not grouped

A convolution in G groups joins the g-th part of its output channels to the g-th part of its input channels only. No
convolution has a bias. Nothing follows the sum: y has negative elements.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, OUT_CHANNELS, HEIGHT, WIDTH). GROUPS divides
IN_CHANNELS, OUT_CHANNELS and M.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
IN_CHANNELS = 240
OUT_CHANNELS = 480
GROUPS = 3
HEIGHT = 224
WIDTH = 224

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 3, "IN_CHANNELS": 75, "OUT_CHANNELS": 159, "HEIGHT": 37, "WIDTH": 43},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolutional network"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, groups):
        super().__init__()
        self.groups = groups
        middle = out_channels // 4
        self.conv1 = nn.Conv2d(in_channels, middle, 1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = nn.Conv2d(middle, middle, 3, padding=1, groups=middle, bias=False)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = nn.Conv2d(middle, out_channels, 1, groups=groups, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.shortcut = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
        )

    def shuffled(self, d):
        by_group = d.unflatten(1, (self.groups, -1))
        return by_group.transpose(1, 2).flatten(1, 2)

    def forward(self, x):
        a = F.relu(self.bn1(self.conv1(x)))
        d = self.bn2(self.conv2(a))
        y = F.relu(self.bn3(self.conv3(self.shuffled(d))))
        y += self.shortcut(x)
        return y


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, GROUPS]
