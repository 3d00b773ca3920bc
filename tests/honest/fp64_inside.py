"""Suspicious: another precision than the problem's. Right: it is the higher one, and the result is rounded once."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.double() @ b.double()).float()
