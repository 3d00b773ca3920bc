"""Suspicious: the input is copied before any kernel has run. Right: what put it there comes first on the same stream."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        current = torch.cuda.current_stream()
        self.side.wait_stream(current)
        with torch.cuda.stream(self.side):
            y = x.clone()
        current.wait_stream(self.side)
        return y.relu_()
