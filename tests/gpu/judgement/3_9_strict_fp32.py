"""3/9 without TF32 in its twenty convolutions, against a reference that has it: right."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, shortcut):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = shortcut

    def forward(self, x):
        z = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(z + (self.downsample(x) if self.downsample is not None else x))


def two_blocks(inputs, outputs, stride):
    shortcut = None
    if (inputs, stride) != (outputs, 1):
        shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
    return nn.Sequential(Block(inputs, outputs, stride, shortcut), Block(outputs, outputs, 1, None))


class ModelNew(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = two_blocks(64, 64, 1)
        self.layer2 = two_blocks(64, 128, 2)
        self.layer3 = two_blocks(128, 256, 2)
        self.layer4 = two_blocks(256, 512, 2)
        self.fc = nn.Linear(512, num_classes)

    def forward(self, x):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            x = F.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
                x = stage(x)
            return self.fc(x.mean(dim=(2, 3)))
