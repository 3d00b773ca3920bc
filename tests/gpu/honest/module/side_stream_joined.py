"""Suspicious: a stream of its own. Right: it waits for the inputs, and the current stream waits for it."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    side = None

    def forward(self, x):
        if self.side is None:
            self.side = torch.cuda.Stream()
        current = torch.cuda.current_stream()
        self.side.wait_stream(current)
        with torch.cuda.stream(self.side):
            y = torch.relu(x)
        current.wait_stream(self.side)
        y.record_stream(current)
        return y
