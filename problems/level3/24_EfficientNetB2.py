"""Five bottlenecks in the manner of EfficientNet-B2, the first of which already averages the image away.

    x = max(0, bn1(conv1(image)))                                      3x3, stride 2, padding 1
    each bottleneck, `mbconv1` to `mbconv5`:
        d = act(depthwise3x3(act(conv1x1(x))))                         act(z) = max(0, bn(z))
        g = sigmoid(conv1x1(max(0, conv1x1(mean of d over all positions))))
        x = bn(conv1x1(g))
    y = fc(mean of max(0, bn_final(conv_final(x))) over all positions) conv_final is 1x1

The gate g does not multiply d, it takes its place. So from the first bottleneck's mean on every image is a single
position, and of the later depthwise filters only the middle elements count. In a bottleneck the conv1x1 before the
depthwise convolution multiplies the channels by a factor, which is 3 in `mbconv1` and 6 in the others; those in the
gate divide them by 4 and multiply them by 4 again. 3x3 convolutions have padding 1; a depthwise convolution has one
filter for each channel; none has a bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode. Where an image is a single position these are the mean and variance of BATCH numbers.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).

Averaged images of noise hardly differ, and normalising two numbers leaves little more than which one is larger. With
BATCH = 2 rounding in fp32 therefore moves the answer as far as other images do: two right programs disagree.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
HEIGHT = 224
WIDTH = 224
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 32, "HEIGHT": 16, "WIDTH": 16},
    "odd": {"BATCH": 19, "HEIGHT": 15, "WIDTH": 21, "CLASSES": 997},
}
DISTRIBUTIONS = ()  # at the standard size all are as chaotic as the natural one
UNSCORED = "chaotic at the standard size: batch norm of two numbers; fp32 is 0.3 to 0.8 standard deviations from fp64"
FAMILY = "convolutional network"
PRECISIONS = ("fp32",)  # for the same reason

FIRST = 32
LAST = 1408


def bottleneck(in_channels, out_channels, stride, factor):
    hidden = factor * in_channels
    return nn.Sequential(
        nn.Conv2d(in_channels, hidden, 1, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU(inplace=True),
        nn.Conv2d(hidden, hidden, 3, stride, padding=1, groups=hidden, bias=False),
        nn.BatchNorm2d(hidden),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Conv2d(hidden, hidden // 4, 1, bias=False),
        nn.ReLU(inplace=True),
        nn.Conv2d(hidden // 4, hidden, 1, bias=False),
        nn.Sigmoid(),
        nn.Conv2d(hidden, out_channels, 1, bias=False),
        nn.BatchNorm2d(out_channels),
    )


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, FIRST, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(FIRST)
        self.mbconv1 = bottleneck(FIRST, 96, stride=1, factor=3)
        self.mbconv2 = bottleneck(96, 144, stride=2, factor=6)
        self.mbconv3 = bottleneck(144, 192, stride=2, factor=6)
        self.mbconv4 = bottleneck(192, 288, stride=2, factor=6)
        self.mbconv5 = bottleneck(288, 384, stride=1, factor=6)
        self.conv_final = nn.Conv2d(384, LAST, 1, bias=False)
        self.bn_final = nn.BatchNorm2d(LAST)
        self.fc = nn.Linear(LAST, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        for block in (self.mbconv1, self.mbconv2, self.mbconv3, self.mbconv4, self.mbconv5):
            x = block(x)
        x = F.relu(self.bn_final(self.conv_final(x)), inplace=True)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
