"""Inception module: four convolution paths of different reach over the same image, their channels put side by side.

    p1 = conv1x1(x)                                              OUT_1X1 channels
    p3 = conv3x3(conv1x1(x))                   REDUCED_3X3, then OUT_3X3 channels
    p5 = conv5x5(conv1x1(x))                   REDUCED_5X5, then OUT_5X5 channels
    pp = conv1x1(largest of each 3x3 square of x)                OUT_POOL channels
    y  = p1, p3, p5, pp along the channels

Every convolution has a bias and stride 1, and is padded with zeros to keep the image's size; the pooling is padded with
minus infinity. There is no activation, not even between two convolutions of a path.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH).
Output: y, (BATCH, OUT_1X1 + OUT_3X3 + OUT_5X5 + OUT_POOL, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn

BATCH = 10
IN_CHANNELS = 480
HEIGHT = 224
WIDTH = 224
OUT_1X1 = 192
REDUCED_3X3 = 96
OUT_3X3 = 208
REDUCED_5X5 = 16
OUT_5X5 = 48
OUT_POOL = 64

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 3, "IN_CHANNELS": 237, "HEIGHT": 29, "WIDTH": 23, "OUT_1X1": 99, "REDUCED_3X3": 51, "OUT_3X3": 101,
            "REDUCED_5X5": 11, "OUT_5X5": 27, "OUT_POOL": 35},
}
# "centred" has squares along the edges that are negative throughout, where padding with 0 would show.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolutional network"


class Model(nn.Module):
    def __init__(self, in_channels, out_1x1, reduced_3x3, out_3x3, reduced_5x5, out_5x5, out_pool):
        super().__init__()
        self.branch1x1 = nn.Conv2d(in_channels, out_1x1, 1)
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
            nn.Conv2d(in_channels, out_pool, 1),
        )

    def forward(self, x):
        branches = (self.branch1x1, self.branch3x3, self.branch5x5, self.branch_pool)
        return torch.cat([branch(x) for branch in branches], dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_1X1, REDUCED_3X3, OUT_3X3, REDUCED_5X5, OUT_5X5, OUT_POOL]
