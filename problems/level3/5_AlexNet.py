"""AlexNet without dropout: five convolutions, three of them pooled, then three linear layers.

    layer    kernel  stride  padding  channels  then
    conv1    11x11   4       2        96        max(0, .), pool
    conv2    5x5     1       2        256       max(0, .), pool
    conv3    3x3     1       1        384       max(0, .)
    conv4    3x3     1       1        384       max(0, .)
    conv5    3x3     1       1        256       max(0, .), pool
    fc1      9216 to 4096, max(0, .);  fc2  4096 to 4096, max(0, .);  fc3  4096 to CLASSES

Pooling takes the largest of 3x3 squares, 2 apart, without padding. Every layer has a bias. fc1 wants 256 maps of 6 x 6,
so HEIGHT and WIDTH lie in 223 ... 254.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).

The initial weights shrink the input layer by layer; what reaches y is mostly the biases' doing.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
HEIGHT = 224
WIDTH = 224
CLASSES = 1000

# fc1 ties the image to about 224 x 224, so one image takes 2.3 GFLOP, and the weights 240 MB.
SIZES = {
    "small": {"BATCH": 2},
    "odd": {"BATCH": 3, "HEIGHT": 227, "WIDTH": 239, "CLASSES": 997},
}
# "scaled" first: there the input shows most.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "convolutional network"


def relu(x):
    return F.relu(x, inplace=True)


def pool(x):
    return F.max_pool2d(x, 3, stride=2)


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, 11, stride=4, padding=2)
        self.conv2 = nn.Conv2d(96, 256, 5, padding=2)
        self.conv3 = nn.Conv2d(256, 384, 3, padding=1)
        self.conv4 = nn.Conv2d(384, 384, 3, padding=1)
        self.conv5 = nn.Conv2d(384, 256, 3, padding=1)
        self.fc1 = nn.Linear(256 * 6 * 6, 4096)
        self.fc2 = nn.Linear(4096, 4096)
        self.fc3 = nn.Linear(4096, num_classes)

    def forward(self, x):
        x = pool(relu(self.conv1(x)))
        x = pool(relu(self.conv2(x)))
        x = relu(self.conv3(x))
        x = relu(self.conv4(x))
        x = pool(relu(self.conv5(x)))
        x = relu(self.fc1(x.flatten(1)))
        x = relu(self.fc2(x))
        return self.fc3(x)


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
