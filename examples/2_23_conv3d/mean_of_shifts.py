"""The mean of a normalised tensor without looking at it.

Teaches: a problem can be too easy. A normalised tensor has mean 0. As long as all gains of the group norm are 1, as
they are when it is constructed, what remains is the mean of the shifts, whatever the input: no convolution, no input.
That is right, and says nothing of a kernel; so this problem draws its gains, and then it is wrong.
"""
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        return self.group_norm.bias.mean().repeat(len(x))
