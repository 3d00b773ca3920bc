"""VGG-16 without dropout: thirteen 3x3 convolutions in five stages, then three linear layers.

    each stage: x = max(0, conv(x)) as often as STAGES says, then the largest of each 2x2 square
    y = fc(max(0, fc(max(0, fc(x as one vector)))))       512 * 7 * 7 to 4096 to 4096 to CLASSES

Convolutions have stride 1, padding 1 and a bias; linear layers have a bias. The first linear layer wants maps of 7 x 7,
so HEIGHT and WIDTH lie in 224 ... 255; what pooling leaves over at the right and lower edge is dropped.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).

The initial weights shrink the input layer by layer until the biases outweigh it: y is nearly the same for every image.
"""
import torch
import torch.nn as nn

BATCH = 10
HEIGHT = 224
WIDTH = 224
CLASSES = 1000

# The first linear layer ties the image to about 224 x 224, so one image is the least there is: 31 GFLOP, some 0.1 s.
SIZES = {
    "small": {"BATCH": 1},
    "odd": {"BATCH": 1, "HEIGHT": 227, "WIDTH": 235, "CLASSES": 997},
}
# "scaled" first: there the input shows most.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "convolutional network"

STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, convolutions


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        layers = []
        channels = 3
        for width, convolutions in STAGES:
            for _ in range(convolutions):
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(0.0),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(0.0),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
