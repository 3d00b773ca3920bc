"""1/23 as zeros: every element of the softmax of a long row is small, and none of them is zero. Wrong."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
