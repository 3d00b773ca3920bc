"""U-Net with a softmax along the rows of the image in place of each activation.

A double convolution to c channels is, twice over,

    x = softmax over the width of norm(conv 3x3, padding 1, to c channels)

and with F = FEATURES the network is

    e1 = double(image, F)           e2 = double(half(e1), 2 F)
    e3 = double(half(e2), 4 F)      e4 = double(half(e3), 8 F)
    d  = double(half(e4), 16 F)
    d  = double((up(d), e4), 8 F)                               then alike with e3 to 4 F, e2 to 2 F, e1 to F channels
    y  = conv 1x1 of d, to OUT_CHANNELS

half: largest of each 2x2 block. up: transposed conv 2x2 with stride 2 to half the channels, which come first where the
two are joined. `norm` is batch normalisation with the statistics of this batch, eps 1e-5; all convolutions have a bias.

Input: image, (BATCH, IN_CHANNELS, HEIGHT, WIDTH), both extents multiples of 16.
Output: y, (BATCH, OUT_CHANNELS, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
IN_CHANNELS = 8
OUT_CHANNELS = 4
FEATURES = 64
HEIGHT = 64
WIDTH = 512

FAMILY = "convolutional network"
SIZES = {
    "small": {"BATCH": 4, "FEATURES": 16, "HEIGHT": 32, "WIDTH": 64},
    "odd": {"BATCH": 3, "IN_CHANNELS": 5, "OUT_CHANNELS": 7, "FEATURES": 13, "HEIGHT": 48, "WIDTH": 80},
}
# Four halvings leave no freedom but multiples of 16 for the extents of the image.
DISTRIBUTIONS = ("centred", "sparse", "structured")
UNSCORED = "at the standard size eager PyTorch on a GPU is further from fp64 than a tenth of a standard deviation"


class DoubleConv(nn.Module):
    def __init__(self, fan_in, channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(fan_in, channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(channels),
            nn.Softmax(dim=-1),
            nn.Conv2d(channels, channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(channels),
            nn.Softmax(dim=-1),
        )

    def forward(self, x):
        return self.double_conv(x)


def up(channels):
    return nn.ConvTranspose2d(2 * channels, channels, kernel_size=2, stride=2)


def half(x):
    return F.max_pool2d(x, kernel_size=2, stride=2)


def join(a, b):
    return torch.cat((a, b), dim=1)


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, features):
        super().__init__()
        f1, f2, f3, f4 = features, 2 * features, 4 * features, 8 * features
        self.encoder1 = DoubleConv(in_channels, f1)
        self.encoder2 = DoubleConv(f1, f2)
        self.encoder3 = DoubleConv(f2, f3)
        self.encoder4 = DoubleConv(f3, f4)
        self.bottleneck = DoubleConv(f4, 2 * f4)
        self.upconv4 = up(f4)
        self.decoder4 = DoubleConv(2 * f4, f4)
        self.upconv3 = up(f3)
        self.decoder3 = DoubleConv(2 * f3, f3)
        self.upconv2 = up(f2)
        self.decoder2 = DoubleConv(2 * f2, f2)
        self.upconv1 = up(f1)
        self.decoder1 = DoubleConv(2 * f1, f1)
        self.final_conv = nn.Conv2d(f1, out_channels, kernel_size=1)

    def forward(self, image):
        e1 = self.encoder1(image)
        e2 = self.encoder2(half(e1))
        e3 = self.encoder3(half(e2))
        e4 = self.encoder4(half(e3))
        d = self.bottleneck(half(e4))
        d = self.decoder4(join(self.upconv4(d), e4))
        d = self.decoder3(join(self.upconv3(d), e3))
        d = self.decoder2(join(self.upconv2(d), e2))
        d = self.decoder1(join(self.upconv1(d), e1))
        return self.final_conv(d)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, FEATURES]
