"""ResNet-18: a convolution, eight residual blocks of two convolutions each, the mean of each map, and a linear layer.

    x = pool(max(0, bn1(conv1(image))))          7x7, stride 2, padding 3; pool: largest of 3x3, stride 2, padding 1
    each block: z = bn2(conv2(max(0, bn1(conv1(x)))));  x = max(0, z + shortcut(x))
    y = fc(mean of x over all positions)

`layer1` to `layer4` hold two blocks each, of 64, 128, 256 and 512 channels; their convolutions are 3x3, padding 1. The
first block of layer2, layer3 and layer4 halves the image: its conv1 has stride 2, and so has the 1x1 convolution in its
shortcut bn(conv1x1(x)), `downsample`. Every other shortcut is x itself. No convolution has a bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
HEIGHT = 224
WIDTH = 224
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 3, "HEIGHT": 75, "WIDTH": 83, "CLASSES": 997},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "convolutional network"


class BasicBlock(nn.Module):
    def __init__(self, in_channels, channels, stride, downsample):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = downsample

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


def stage(in_channels, channels, stride):
    """Two blocks, the first of which may change the number of channels and the size of the image."""
    projection = None
    if stride > 1 or in_channels != channels:
        projection = nn.Sequential(
            nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False),
            nn.BatchNorm2d(channels),
        )
    return nn.Sequential(
        BasicBlock(in_channels, channels, stride, projection),
        BasicBlock(channels, channels, 1, None),
    )


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = stage(64, 64, 1)
        self.layer2 = stage(64, 128, 2)
        self.layer3 = stage(128, 256, 2)
        self.layer4 = stage(256, 512, 2)
        self.fc = nn.Linear(512, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
