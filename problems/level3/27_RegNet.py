"""Plain convolutional network in stages that double the channels and halve the resolution.

A stage of width w, applied for each w of WIDTHS in turn:

    a = relu(norm(conv 3x3, padding 1, to w channels))
    b = relu(norm(conv 3x3, padding 1, w to w channels))
    y = largest of each 2x2 block of b, an odd last row or column left out

Then the mean over all positions, and a linear layer. `norm` is batch normalisation with the statistics of this batch,
eps 1e-5; convolutions have a bias, which that normalisation takes out again.

Input: image, (BATCH, CHANNELS, HEIGHT, WIDTH). Output: logits, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 3
HEIGHT = 224
WIDTH = 224
STAGES = 3
WIDTHS = [64, 128, 256]
CLASSES = 10

FAMILY = "convolutional network"
SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 48, "WIDTH": 48, "WIDTHS": [32, 64, 128]},
    "odd": {"BATCH": 5, "HEIGHT": 43, "WIDTH": 51, "WIDTHS": [29, 53, 101], "CLASSES": 11},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


def stage(fan_in, width):
    return nn.Sequential(
        nn.Conv2d(fan_in, width, kernel_size=3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, width, kernel_size=3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(kernel_size=2, stride=2),
    )


class Model(nn.Module):
    def __init__(self, input_channels, stages, block_widths, output_classes):
        super().__init__()
        fans = [input_channels, *block_widths]
        self.feature_extractor = nn.Sequential(*(stage(fans[i], fans[i + 1]) for i in range(stages)))
        self.fc = nn.Linear(fans[stages], output_classes)

    def forward(self, image):
        features = self.feature_extractor(image)
        return self.fc(features.mean(dim=(2, 3)))


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, STAGES, WIDTHS, CLASSES]
