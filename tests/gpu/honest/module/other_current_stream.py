"""Suspicious: leaves another stream current than it found. Right: everything after it, a copy of its output too, goes
to that stream in order."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    side = None

    def forward(self, x):
        if self.side is None:
            self.side = torch.cuda.Stream()
        self.side.wait_stream(torch.cuda.current_stream())
        torch.cuda.set_stream(self.side)
        return torch.relu(x)
