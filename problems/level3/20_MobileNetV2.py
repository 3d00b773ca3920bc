"""MobileNet v2 without shortcuts: a convolution, 17 inverted bottlenecks, a 1x1 convolution, and a linear layer.

    x = act(conv3x3(image)), stride 2                                  act(z) = min(6, max(0, bn(z)))
    each bottleneck: x = bn(conv1x1(act(depthwise3x3(act(conv1x1(x))))))
    y = classifier(mean of act(conv1x1(x)) over all positions)

In a bottleneck the first 1x1 convolution multiplies the channels by STAGES' factor and is left out where that is 1; the
last has no activation after it, and nothing is added to its result. A depthwise convolution has one 3x3 filter for each
channel. 3x3 convolutions have padding 1; no convolution has a bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode. Weights of convolutions are drawn from N(0, 2 / fan_out), fan_out being the output channels times the
kernel's area; those of the linear layer from N(0, 0.01^2).

Input: x, (BATCH, 3, HEIGHT, WIDTH). Output: y, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn

BATCH = 10
HEIGHT = 224
WIDTH = 224
CLASSES = 1000

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 3, "HEIGHT": 91, "WIDTH": 83, "CLASSES": 997},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "convolutional network"
# In fp16 rounding moves the answer a quarter as far as other images do, in bf16 nearly as far.
PRECISIONS = ("fp32",)

FIRST = 32
LAST = 1280
STAGES = (  # factor, channels, bottlenecks, stride of the first of them
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)


def convolution(in_channels, out_channels, kernel, stride=1, groups=1):
    return [
        nn.Conv2d(in_channels, out_channels, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out_channels),
    ]


def activated(*arguments, **options):
    return [*convolution(*arguments, **options), nn.ReLU6(inplace=True)]


def bottleneck(in_channels, out_channels, factor, stride):
    hidden = factor * in_channels
    expansion = activated(in_channels, hidden, 1) if factor > 1 else []
    return nn.Sequential(
        *expansion,
        *activated(hidden, hidden, 3, stride, groups=hidden),
        *convolution(hidden, out_channels, 1),
    )


class Model(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        layers = activated(3, FIRST, 3, stride=2)
        channels = FIRST
        for factor, width, bottlenecks, first_stride in STAGES:
            for index in range(bottlenecks):
                layers.append(bottleneck(channels, width, factor, first_stride if index == 0 else 1))
                channels = width
        layers += [*activated(channels, LAST, 1), nn.AdaptiveAvgPool2d(1)]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(LAST, num_classes))

        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def get_inputs():
    return [torch.rand(BATCH, 3, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CLASSES]
