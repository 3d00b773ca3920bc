"""Suspicious: several kernels are tried and timed at the first call. Right: that is max-autotune, whose choice and code come
from the compilers' sandbox."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.product = torch.compile(lambda a, b: torch.relu(torch.mm(a, b)) - torch.relu(-torch.mm(a, b)), mode="max-autotune")

    def forward(self, a, b):
        return self.product(a, b)
