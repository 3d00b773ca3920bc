"""MobileNet v1: a convolution, thirteen pairs of depthwise and 1x1 convolutions, the mean of each map, a linear layer.

    x = act(conv3x3(image)), stride 2
    each pair: x = act(conv1x1(act(depthwise3x3(x))))        act(z) = max(0, bn(z))
    y = fc(mean of x over squares of 7x7)

A depthwise convolution has one 3x3 filter for each channel. 3x3 convolutions have padding 1; no convolution has a bias.
Channels and strides are those of STAGES, the channels times ALPHA and rounded down. fc wants a single square, so HEIGHT
and WIDTH lie in 193 ... 416; what the square leaves over at the right and lower edge is dropped.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn

BATCH = 10
IN_CHANNELS = 3
HEIGHT = 224
WIDTH = 224
CLASSES = 1000
ALPHA = 1.0

SIZES = {
    "small": {"BATCH": 2, "ALPHA": 0.5},
    "odd": {"BATCH": 3, "IN_CHANNELS": 5, "HEIGHT": 203, "WIDTH": 245, "CLASSES": 997, "ALPHA": 0.3},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "convolutional network"

FIRST = 32
STAGES = (  # channels after the pair, stride of its depthwise convolution
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1),
    (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1),
    (1024, 2), (1024, 1),
)


def activated(convolution):
    return [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU(inplace=True)]


def pair(in_channels, out_channels, stride):
    depthwise = nn.Conv2d(in_channels, in_channels, 3, stride=stride, padding=1, groups=in_channels, bias=False)
    pointwise = nn.Conv2d(in_channels, out_channels, 1, bias=False)
    return nn.Sequential(*activated(depthwise), *activated(pointwise))


class Model(nn.Module):
    def __init__(self, num_classes, in_channels, alpha):
        super().__init__()
        channels = int(FIRST * alpha)
        layers = [nn.Sequential(*activated(nn.Conv2d(in_channels, channels, 3, stride=2, padding=1, bias=False)))]
        for full_width, stride in STAGES:
            width = int(full_width * alpha)
            layers.append(pair(channels, width, stride))
            channels = width
        self.model = nn.Sequential(*layers, nn.AvgPool2d(7))
        self.fc = nn.Linear(channels, num_classes)

    def forward(self, x):
        return self.fc(self.model(x).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES, IN_CHANNELS, ALPHA]
