"""ShuffleNet, a classifier of images whose 1x1 convolutions see only a third of the channels each.

A unit with `fan_in` input and `fan_out` output channels, and mid = fan_out / 4:

    a = relu(norm(conv 1x1 in GROUPS groups, fan_in to mid))
    b = shuffle(norm(conv 3x3 of each channel alone, padding 1))
    c = relu(norm(conv 1x1 in GROUPS groups, mid to fan_out))
    y = c + shortcut(x)

The shortcut is x itself where fan_in = fan_out, else norm(conv 1x1, fan_in to fan_out). `shuffle` moves channel
i * mid / GROUPS + j to channel j * GROUPS + i, so that the next convolution's groups see parts of all the former ones.

Network: conv 3x3 with stride 2, norm, relu; largest of 3x3 with stride 2; 3 units with 240 channels, 7 with 480, 3 with
960; conv 1x1 to 1024 channels, norm, relu; mean over all positions; linear. All units work at the same resolution.
`norm` is batch normalisation with the statistics of this batch, eps 1e-5; convolutions have no bias.

Input: image, (BATCH, 3, HEIGHT, WIDTH). Output: logits, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn

BATCH = 10
HEIGHT = 224
WIDTH = 224
CLASSES = 1000
GROUPS = 3

FAMILY = "convolutional network"
SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 3, "HEIGHT": 23, "WIDTH": 35, "CLASSES": 997},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


def conv1x1(fan_in, fan_out, groups=1):
    return nn.Conv2d(fan_in, fan_out, kernel_size=1, groups=groups, bias=False)


def shuffle(x):
    return x.unflatten(1, (GROUPS, -1)).transpose(1, 2).flatten(1, 2)


class Unit(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        mid = fan_out // 4
        self.conv1 = conv1x1(fan_in, mid, GROUPS)
        self.bn1 = nn.BatchNorm2d(mid)
        self.conv2 = nn.Conv2d(mid, mid, kernel_size=3, padding=1, groups=mid, bias=False)
        self.bn2 = nn.BatchNorm2d(mid)
        self.conv3 = conv1x1(mid, fan_out, GROUPS)
        self.bn3 = nn.BatchNorm2d(fan_out)
        if fan_in == fan_out:
            self.shortcut = nn.Identity()
        else:
            self.shortcut = nn.Sequential(conv1x1(fan_in, fan_out), nn.BatchNorm2d(fan_out))

    def forward(self, x):
        a = torch.relu(self.bn1(self.conv1(x)))
        b = shuffle(self.bn2(self.conv2(a)))
        c = torch.relu(self.bn3(self.conv3(b)))
        return c + self.shortcut(x)


def stage(fan_in, fan_out, units):
    return nn.Sequential(Unit(fan_in, fan_out), *(Unit(fan_out, fan_out) for _ in range(units - 1)))


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 24, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(24)
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.stage2 = stage(24, 240, 3)
        self.stage3 = stage(240, 480, 7)
        self.stage4 = stage(480, 960, 3)
        self.conv5 = conv1x1(960, 1024)
        self.bn5 = nn.BatchNorm2d(1024)
        self.fc = nn.Linear(1024, num_classes)

    def forward(self, image):
        x = self.pool(torch.relu(self.bn1(self.conv1(image))))
        x = self.stage4(self.stage3(self.stage2(x)))
        x = torch.relu(self.bn5(self.conv5(x)))
        return self.fc(x.mean(dim=(2, 3)))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
