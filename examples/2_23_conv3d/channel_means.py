"""Convolution, then nothing but each channel's mean and mean square.

Teaches: algebra first. The mean of a group-normalised sample needs no normalised tensor: every channel's mean and mean
square suffice, which are a few hundred numbers. Two passes over the convolution's output replace two that read and one
that writes. The work is the library's: authorship will say so.
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        norm = self.group_norm
        z = self.conv(x).flatten(2)
        groups = (len(z), norm.num_groups, -1)
        mean = z.mean(dim=2).view(groups)
        square = torch.linalg.vector_norm(z, dim=2).square().div(z.shape[2]).view(groups)
        center = mean.mean(dim=2, keepdim=True)
        variance = square.mean(dim=2, keepdim=True) - center.square()
        normalised = ((mean - center) * torch.rsqrt(variance + norm.eps)).flatten(1)
        return (normalised * norm.weight + norm.bias).mean(dim=1)
