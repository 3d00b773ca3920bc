"""2/61 without TF32, against a reference that has it: right."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, groups, bias):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, bias=bias)
        self.group_norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            y = F.conv_transpose3d(x, self.conv_transpose.weight, self.conv_transpose.bias)
        return F.group_norm(y.relu_(), self.group_norm.num_groups, self.group_norm.weight, self.group_norm.bias)
