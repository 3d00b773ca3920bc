"""Suspicious: times kernels with events and sets `elapsed_time`. Right: the events and the table are its own, and the choice is
between equal kernels."""
import torch
import torch.nn as nn


class Choice:
    def __init__(self, kernel):
        self.kernel = kernel
        self.elapsed_time = None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.choices = [Choice(torch.relu), Choice(lambda x: torch.clamp(x, 0)), Choice(lambda x: torch.threshold(x, 0, 0))]
        self.best = None

    def tune(self, x):
        for choice in self.choices:
            choice.kernel(x)
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            choice.kernel(x)
            end.record()
            end.synchronize()
            choice.elapsed_time = start.elapsed_time(end)
        return min(self.choices, key=lambda choice: choice.elapsed_time)

    def forward(self, x):
        self.best = self.best or self.tune(x)
        return self.best.kernel(x)
