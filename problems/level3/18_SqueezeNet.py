"""SqueezeNet 1.0 without dropout: a convolution, eight fire modules, a 1x1 convolution, and the mean of each map.

    x = pool(max(0, conv(image)))                                7x7 to 96 channels, stride 2, no padding
    each fire module: s = max(0, squeeze(x));  x = max(0, expand1x1(s)) and max(0, expand3x3(s)) along the channels
    y = mean over all positions of max(0, conv1x1(x))

Pooling takes the largest of 3x3 squares, 2 apart, and follows the first convolution and fire modules 5 and 10 (numbers
as in `features`); its result is rounded up, so that a square may reach over the right or lower edge, where nothing
counts. expand3x3 is padded by 1 with zeros. Every convolution has a bias.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).

The initial weights shrink the input layer by layer until the biases outweigh it: y is nearly the same for every image.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
HEIGHT = 512
WIDTH = 512
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 3, "HEIGHT": 91, "WIDTH": 77, "CLASSES": 997},
}
# "scaled" first: there the input shows most.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
UNSCORED = "at the standard size y hardly depends on the image: the answer to another one passes"
FAMILY = "convolutional network"


class Fire(nn.Module):
    def __init__(self, in_channels, squeezed, expanded):
        super().__init__()
        self.squeeze = nn.Conv2d(in_channels, squeezed, 1)
        self.expand1x1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3x3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x):
        s = F.relu(self.squeeze(x), inplace=True)
        expanded = [F.relu(expand(s), inplace=True) for expand in (self.expand1x1, self.expand3x3)]
        return torch.cat(expanded, dim=1)


def pool():
    return nn.MaxPool2d(3, stride=2, ceil_mode=True)


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 96, 7, stride=2),
            nn.ReLU(inplace=True),
            pool(),
            Fire(96, 16, 64),
            Fire(128, 16, 64),
            Fire(128, 32, 128),
            pool(),
            Fire(256, 32, 128),
            Fire(256, 48, 192),
            Fire(384, 48, 192),
            Fire(384, 64, 256),
            pool(),
            Fire(512, 64, 256),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(0.0),
            nn.Conv2d(512, num_classes, 1),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
        )

    def forward(self, x):
        return self.classifier(self.features(x)).flatten(1)


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
