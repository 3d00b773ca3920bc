"""EfficientNet-B0 without squeeze and excitation: thirteen bottlenecks between two convolutions, and a linear layer.

    x = max(0, bn1(conv1(image)))                                    3x3, stride 2, padding 1
    each block: z = bn(conv1x1(act(depthwise(act(conv1x1(x))))));    x = z + x where the shapes agree, else z
    y = fc(mean of max(0, bn2(conv2(x))) over all positions)         conv2 is 1x1

act(z) = min(6, max(0, bn(z))). BLOCKS lists the blocks; the first 1x1 convolution of a block multiplies the channels by
the block's factor and is left out where that is 1. A depthwise convolution has one filter for each channel and padding
(kernel - 1) / 2. No convolution has a bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
HEIGHT = 224
WIDTH = 224
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 3, "HEIGHT": 91, "WIDTH": 77, "CLASSES": 997},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "convolutional network"

FIRST = 32
LAST = 1280
BLOCKS = (  # channels after the block, kernel and stride of its depthwise convolution, factor
    (16, 3, 1, 1),
    (24, 3, 2, 6), (24, 3, 1, 6),
    (40, 5, 2, 6), (40, 5, 1, 6),
    (80, 3, 2, 6), (80, 3, 1, 6),
    (112, 5, 1, 6), (112, 5, 1, 6),
    (192, 5, 2, 6), (192, 5, 1, 6), (192, 5, 1, 6),
    (320, 3, 1, 6),
)


class Block(nn.Module):
    def __init__(self, in_channels, out_channels, kernel, stride, factor):
        super().__init__()
        hidden = factor * in_channels
        self.has_shortcut = stride == 1 and in_channels == out_channels
        self.expand_conv = nn.Sequential()
        if factor > 1:
            self.expand_conv = nn.Sequential(
                nn.Conv2d(in_channels, hidden, 1, bias=False),
                nn.BatchNorm2d(hidden),
                nn.ReLU6(inplace=True),
            )
        self.depthwise_conv = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel, stride, padding=(kernel - 1) // 2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
        )
        self.project_conv = nn.Sequential(
            nn.Conv2d(hidden, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
        )

    def forward(self, x):
        z = self.project_conv(self.depthwise_conv(self.expand_conv(x)))
        if self.has_shortcut:
            z += x
        return z


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, FIRST, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(FIRST)
        blocks = []
        channels = FIRST
        for width, kernel, stride, factor in BLOCKS:
            blocks.append(Block(channels, width, kernel, stride, factor))
            channels = width
        self.blocks = nn.Sequential(*blocks)
        self.conv2 = nn.Conv2d(channels, LAST, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(LAST)
        self.fc = nn.Linear(LAST, num_classes)

    def forward(self, x):
        x = self.blocks(F.relu(self.bn1(self.conv1(x))))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
