"""Suspicious: keeps the output of every call. Right: nothing reads them again, and each call computes its own."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(torch.relu(x))
        return self.history[-1]
