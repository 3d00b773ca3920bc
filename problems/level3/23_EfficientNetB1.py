"""Seven inverted bottlenecks in the manner of EfficientNet-B1 between two convolutions, and a linear layer.

    x = max(0, bn1(conv1(image)))                                          3x3, stride 2, padding 1
    each bottleneck: x = bn(conv1x1(act(depthwise3x3(act(conv1x1(x))))))   act(z) = min(6, max(0, bn(z)))
    y = fc(mean of max(0, bn2(conv2(x))) over all positions)               conv2 is 1x1

The first 1x1 convolution of a bottleneck multiplies the channels by a factor, which is 1 in `mbconv1` and 6 in the
others, `mbconv2` to `mbconv7`. Nothing is added to a bottleneck's result. A depthwise
convolution has one filter for each channel and padding 1. No convolution has a bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
HEIGHT = 240
WIDTH = 240
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 3, "HEIGHT": 91, "WIDTH": 77, "CLASSES": 997},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "convolutional network"

FIRST = 32
LAST = 1280


def bottleneck(in_channels, out_channels, stride, factor):
    hidden = factor * in_channels
    return nn.Sequential(
        nn.Conv2d(in_channels, hidden, 1, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU6(inplace=True),
        nn.Conv2d(hidden, hidden, 3, stride, padding=1, groups=hidden, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU6(inplace=True),
        nn.Conv2d(hidden, out_channels, 1, bias=False),
        nn.BatchNorm2d(out_channels),
    )


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, FIRST, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(FIRST)
        self.mbconv1 = bottleneck(FIRST, 16, stride=1, factor=1)
        self.mbconv2 = bottleneck(16, 24, stride=2, factor=6)
        self.mbconv3 = bottleneck(24, 40, stride=2, factor=6)
        self.mbconv4 = bottleneck(40, 80, stride=2, factor=6)
        self.mbconv5 = bottleneck(80, 112, stride=1, factor=6)
        self.mbconv6 = bottleneck(112, 192, stride=2, factor=6)
        self.mbconv7 = bottleneck(192, 320, stride=1, factor=6)
        self.conv2 = nn.Conv2d(320, LAST, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(LAST)
        self.fc = nn.Linear(LAST, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for block in (self.mbconv1, self.mbconv2, self.mbconv3, self.mbconv4, self.mbconv5, self.mbconv6, self.mbconv7):
            x = block(x)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
