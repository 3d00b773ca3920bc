"""LeNet-5: two convolutions with pooling, then three linear layers, on small images of one channel.

    a = pool(max(0, conv1(x)))     5x5 without padding; pool: largest of each 2x2 square
    b = pool(max(0, conv2(a)))     likewise
    y = fc3(max(0, fc2(max(0, fc1(b as one vector)))))

Every convolution and linear layer has a bias. fc1 wants 16 maps of 5 x 5, so HEIGHT and WIDTH lie in 32 ... 35; what
pooling leaves over at the right and lower edge is dropped.

Input: x, (BATCH, 1, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
HEIGHT = 32
WIDTH = 32
CLASSES = 20

SIZES = {
    "small": {"BATCH": 512},
    "odd": {"BATCH": 509, "HEIGHT": 33, "WIDTH": 35, "CLASSES": 19},
}
# "scaled" first: elsewhere the biases outweigh what distinguishes one image from another.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "convolutional network"


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x):
        for convolution in (self.conv1, self.conv2):
            x = F.max_pool2d(F.relu(convolution(x)), 2)
        x = x.flatten(1)
        for linear in (self.fc1, self.fc2):
            x = F.relu(linear(x))
        return self.fc3(x)


def get_inputs():
    return [torch.rand(BATCH, 1, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
