"""Suspicious: the work is done on the host, from a copy that no kernel comes before. Right, and slow."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x.cpu()).to(x.device)
