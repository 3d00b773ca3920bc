"""Suspicious: returns a view into a larger buffer. Right: the buffer is new at every call, and the view has the shape
and the values that are asked for."""
import torch
import torch.nn as nn

PADDING = 16


class ModelNew(nn.Module):
    def forward(self, x):
        buffer = torch.empty(x.shape[0], x.shape[1] + PADDING)
        y = buffer[:, PADDING:]
        torch.softmax(x, dim=1, out=y)
        return y
