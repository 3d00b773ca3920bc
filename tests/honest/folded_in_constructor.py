"""Suspicious: work moved into the constructor, and no parameter under the reference's names. Right: only parameters
are folded, drawn in the order in which the reference draws them under the same seed."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        linear = nn.Linear(in_features, out_features)
        factor = 1.0 + scaling_factor
        self.register_buffer("folded_weight", (linear.weight.detach() * factor).t().contiguous())
        self.register_buffer("folded_bias", linear.bias.detach() * factor)

    def forward(self, x):
        return torch.addmm(self.folded_bias, x, self.folded_weight)
