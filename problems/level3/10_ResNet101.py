"""ResNet-101: a convolution, 33 residual bottleneck blocks, the mean of each map, and a linear layer.

    x = pool(max(0, bn1(conv1(image))))          7x7, stride 2, padding 3; pool: largest of 3x3, stride 2, padding 1
    each block: z = bn3(conv3(max(0, bn2(conv2(max(0, bn1(conv1(x))))))));  x = max(0, z + shortcut(x))
    y = fc(mean of x over all positions)

In a block conv1 is 1x1 to C channels, conv2 3x3 with padding 1, conv3 1x1 to 4 C channels. `layer1` to `layer4` hold
BLOCKS[0] to BLOCKS[3] blocks with C = 64, 128, 256, 512. In the first block of each the shortcut is bn(conv1x1(x)),
`downsample`, elsewhere x itself; in the first block of layer2, layer3 and layer4 conv2 and that 1x1 convolution have
stride 2. No convolution has a bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).

One hundred normalisations in a row magnify rounding errors about a thousand times.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
HEIGHT = 224
WIDTH = 224
BLOCKS = [3, 4, 23, 3]
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 64, "WIDTH": 64, "BLOCKS": [1, 2, 2, 1]},
    "odd": {"BATCH": 3, "HEIGHT": 67, "WIDTH": 83, "BLOCKS": [2, 1, 3, 1], "CLASSES": 997},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "convolutional network"
# In fp16 rounding moves the answer half as far as other images do, in bf16 as far.
PRECISIONS = ("fp32",)

EXPANSION = 4


class Bottleneck(nn.Module):
    def __init__(self, in_channels, channels, stride, downsample):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, EXPANSION * channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(EXPANSION * channels)
        self.downsample = downsample

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


def stage(in_channels, channels, blocks, stride):
    """A first block that changes the number of channels and perhaps the size of the image, then blocks that do not."""
    wide = EXPANSION * channels
    projection = nn.Sequential(
        nn.Conv2d(in_channels, wide, 1, stride=stride, bias=False),
        nn.BatchNorm2d(wide),
    )
    first = Bottleneck(in_channels, channels, stride, projection)
    return nn.Sequential(first, *(Bottleneck(wide, channels, 1, None) for _ in range(blocks - 1)))


class Model(nn.Module):
    def __init__(self, blocks, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = stage(64, 64, blocks[0], 1)
        self.layer2 = stage(256, 128, blocks[1], 2)
        self.layer3 = stage(512, 256, blocks[2], 2)
        self.layer4 = stage(1024, 512, blocks[3], 2)
        self.fc = nn.Linear(2048, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [BLOCKS, CLASSES]
