"""1/63 without TF32, against a reference that has it: more precise than what it is compared with, and right."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            return F.conv2d(x, self.conv2d.weight)
