"""GoogLeNet (Inception v1): three convolutions, nine inception modules, the mean of each map, and a linear layer.

An inception module runs four paths over its input and puts their channels side by side; its convolutions have a bias,
stride 1, padding that keeps the size, and no activation:

    conv1x1(x);  conv3x3(conv1x1(x));  conv5x5(conv1x1(x));  conv1x1(largest of each 3x3 square of x)

The network, where pool halves the image (largest of 3x3 squares 2 apart, padded by 1 with minus infinity):

    pool(max(0, conv1(x)))                       7x7, stride 2, padding 3, 64 channels
    pool(max(0, conv3(max(0, conv2(x)))))        1x1 to 64, then 3x3 to 192 channels
    3a, 3b, pool;  4a, 4b, 4c, 4d, 4e, pool;  5a, 5b
    mean over all positions, fc

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).

The initial weights shrink the input layer by layer until the biases outweigh it: y is nearly the same for every image.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
HEIGHT = 224
WIDTH = 224
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 112, "WIDTH": 112},
    "odd": {"BATCH": 3, "HEIGHT": 93, "WIDTH": 101, "CLASSES": 997},
}
# "scaled" first: there the input shows most.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "convolutional network"


class Inception(nn.Module):
    def __init__(self, in_channels, direct, reduced_3x3, out_3x3, reduced_5x5, out_5x5, pooled):
        super().__init__()
        self.branch1x1 = nn.Conv2d(in_channels, direct, 1)
        self.branch3x3 = nn.Sequential(
            nn.Conv2d(in_channels, reduced_3x3, 1),
            nn.Conv2d(reduced_3x3, out_3x3, 3, padding=1),
        )
        self.branch5x5 = nn.Sequential(
            nn.Conv2d(in_channels, reduced_5x5, 1),
            nn.Conv2d(reduced_5x5, out_5x5, 5, padding=2),
        )
        self.branch_pool = nn.Sequential(
            nn.MaxPool2d(3, stride=1, padding=1),
            nn.Conv2d(in_channels, pooled, 1),
        )

    def forward(self, x):
        branches = (self.branch1x1, self.branch3x3, self.branch5x5, self.branch_pool)
        return torch.cat([branch(x) for branch in branches], dim=1)


def pool(x):
    return F.max_pool2d(x, 3, stride=2, padding=1)


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3)
        self.conv2 = nn.Conv2d(64, 64, 1)
        self.conv3 = nn.Conv2d(64, 192, 3, padding=1)
        self.inception3a = Inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = Inception(256, 128, 128, 192, 32, 96, 64)
        self.inception4a = Inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = Inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = Inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = Inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = Inception(528, 256, 160, 320, 32, 128, 128)
        self.inception5a = Inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = Inception(832, 384, 192, 384, 48, 128, 128)
        self.fc = nn.Linear(1024, num_classes)

    def forward(self, x):
        x = pool(F.relu(self.conv1(x)))
        x = F.relu(self.conv2(x))
        x = pool(F.relu(self.conv3(x)))
        x = pool(self.inception3b(self.inception3a(x)))
        for inception in (self.inception4a, self.inception4b, self.inception4c, self.inception4d, self.inception4e):
            x = inception(x)
        x = self.inception5b(self.inception5a(pool(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
