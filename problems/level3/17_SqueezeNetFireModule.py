"""Fire module of SqueezeNet: few channels squeezed out of the image by a 1x1 convolution, expanded by a 1x1 and a 3x3.

    s = max(0, squeeze(x))                                                  SQUEEZED channels
    y = max(0, expand1x1(s)) and max(0, expand3x3(s)) along the channels    EXPANDED_1X1 + EXPANDED_3X3 channels

Every convolution has a bias; expand3x3 is padded by 1 with zeros.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, EXPANDED_1X1 + EXPANDED_3X3, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_CHANNELS = 3
SQUEEZED = 6
EXPANDED_1X1 = 64
EXPANDED_3X3 = 64
HEIGHT = 256
WIDTH = 256

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 64, "WIDTH": 64},
    "odd": {"BATCH": 15, "IN_CHANNELS": 5, "SQUEEZED": 7, "EXPANDED_1X1": 51, "EXPANDED_3X3": 67, "HEIGHT": 53,
            "WIDTH": 61},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolutional network"


class Model(nn.Module):
    def __init__(self, in_channels, squeezed, expanded_1x1, expanded_3x3):
        super().__init__()
        self.squeeze = nn.Conv2d(in_channels, squeezed, 1)
        self.expand1x1 = nn.Conv2d(squeezed, expanded_1x1, 1)
        self.expand3x3 = nn.Conv2d(squeezed, expanded_3x3, 3, padding=1)

    def forward(self, x):
        s = F.relu(self.squeeze(x), inplace=True)
        expanded = [F.relu(expand(s), inplace=True) for expand in (self.expand1x1, self.expand3x3)]
        return torch.cat(expanded, dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, SQUEEZED, EXPANDED_1X1, EXPANDED_3X3]
