"""Suspicious: raw streams in C++ beside PyTorch's. Right: the side stream waits for the inputs, and the current stream
for the side stream."""
import torch
import torch.nn as nn

from inline_source import extension


class ModelNew(nn.Module):
    side = None

    def forward(self, x):
        if self.side is None:
            self.side = torch.cuda.Stream()
        y = torch.empty_like(x)
        self.side.wait_stream(torch.cuda.current_stream())
        extension.relu(x, y, x.numel(), self.side.cuda_stream)
        torch.cuda.current_stream().wait_stream(self.side)
        return y
