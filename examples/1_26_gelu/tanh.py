"""GELU by its popular approximation with tanh.

Teaches: a similar function is another function. The two forms differ by up to 0.0005, which no one sees in a trained
network, and which is thousands of times what fp32 loses. The problem asks for the exact form.
"""
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        return F.gelu(x, approximate="tanh")
