"""Residual block of ResNet-18: two 3x3 convolutions with batch normalisation, added to a projection of the input.

    z = bn2(conv2(max(0, bn1(conv1(x)))))
    y = max(0, z + bn(conv1x1(x)))

conv1 and conv2 are padded by 1; conv1 and the 1x1 convolution, `downsample.0`, have stride STRIDE; none has a bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_CHANNELS, HEIGHT / STRIDE, WIDTH / STRIDE), rounded up.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
IN_CHANNELS = 3
OUT_CHANNELS = 64
HEIGHT = 224
WIDTH = 224
STRIDE = 1

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 48, "WIDTH": 48},
    "odd": {"BATCH": 5, "IN_CHANNELS": 5, "OUT_CHANNELS": 51, "HEIGHT": 43, "WIDTH": 53},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolutional network"


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 1, stride=stride, bias=False),
            nn.BatchNorm2d(out_channels),
        )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.downsample(x)
        return F.relu(y, inplace=True)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, STRIDE]
