"""DenseNet-121 without bottlenecks: four dense blocks with transitions between them, and a linear layer.

    x = pool(max(0, bn(conv(image))))           7x7, stride 2, padding 3; pool: largest of 3x3, stride 2, padding 1
    each layer of a dense block: x = x and conv3x3(max(0, bn(x))), one after the other along the channels
    each transition: x = mean of each 2x2 square of conv1x1(max(0, bn(x))), with half as many channels
    y = classifier(mean of max(0, final_bn(x)) over all positions)

The blocks have 6, 12, 24 and 16 layers (58 in all), each of which adds GROWTH channels; a transition follows each
block but the last. The first convolution has 64 channels; 3x3 convolutions have padding 1; none has a bias. Half of an
odd number of channels is rounded down, and so is half an image.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode.

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
HEIGHT = 224
WIDTH = 224
GROWTH = 32
CLASSES = 10

SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 64, "WIDTH": 64, "GROWTH": 12},
    "odd": {"BATCH": 3, "HEIGHT": 75, "WIDTH": 67, "GROWTH": 11, "CLASSES": 13},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "convolutional network"

BLOCKS = (6, 12, 24, 16)  # layers in each


class DenseBlock(nn.Module):
    def __init__(self, num_layers, in_channels, growth):
        super().__init__()
        self.layers = nn.ModuleList()
        for channels in range(in_channels, in_channels + num_layers * growth, growth):
            self.layers.append(nn.Sequential(
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
                nn.Conv2d(channels, growth, 3, padding=1, bias=False),
            ))

    def forward(self, x):
        written = [x]
        for layer in self.layers:
            written.append(layer(x))
            x = torch.cat(written, dim=1)
        return x


class Transition(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.transition = nn.Sequential(
            nn.BatchNorm2d(in_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.AvgPool2d(2),
        )

    def forward(self, x):
        return self.transition(x)


class Model(nn.Module):
    def __init__(self, growth, num_classes):
        super().__init__()
        channels = 64
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.dense_blocks = nn.ModuleList()
        self.transition_layers = nn.ModuleList()
        for index, num_layers in enumerate(BLOCKS):
            if index > 0:
                self.transition_layers.append(Transition(channels, channels // 2))
                channels //= 2
            self.dense_blocks.append(DenseBlock(num_layers, channels, growth))
            channels += num_layers * growth
        self.final_bn = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, num_classes)

    def forward(self, x):
        x = self.dense_blocks[0](self.features(x))
        for transition, block in zip(self.transition_layers, self.dense_blocks[1:]):
            x = block(transition(x))
        x = F.relu(self.final_bn(x), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [GROWTH, CLASSES]
