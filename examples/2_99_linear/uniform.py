"""Softmax of a linear layer, answered with the mean of all answers.

Teaches: tolerances must scale with the output. Over a thousand columns every softmax is about 0.001, so an absolute
tolerance of 0.0001 comes near to accepting the same number everywhere, and one of 0.01 accepts it, and zeros too.
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        columns = self.linear.out_features
        return torch.full((len(x), columns), 1 / columns, dtype=x.dtype, device=x.device)
