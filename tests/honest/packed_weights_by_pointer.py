"""Suspicious: a cache keyed by data_ptr and version. Right: it holds packed parameters, which do change rarely, and
its key changes when they do; no input is ever kept."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.factor = 1.0 + scaling_factor
        self.packed = {}

    def weights(self):
        weight, bias = self.matmul.weight, self.matmul.bias
        key = (weight.data_ptr(), weight._version, bias.data_ptr(), bias._version)
        if key not in self.packed:
            self.packed = {key: ((weight * self.factor).t().contiguous(), bias * self.factor)}
        return self.packed[key]

    def forward(self, x):
        weight, bias = self.weights()
        return torch.addmm(bias, x, weight)
