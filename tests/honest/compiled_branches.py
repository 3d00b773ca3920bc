"""Suspicious: which of two compiled functions runs depends on the values of an input. Right: both are, and each was compiled at
the first call, before there is a runner."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.forward = torch.compile(self.plain)

    def plain(self, x):
        largest = x.abs().max()
        if largest > 64:  # squares of large numbers lose less when they are scaled first
            y = x / largest
            return y / torch.sqrt(torch.mean(y ** 2, dim=1, keepdim=True) + self.eps / largest ** 2)
        return x / torch.sqrt(torch.mean(x ** 2, dim=1, keepdim=True) + self.eps)
