"""Suspicious: looks at a frame. Right: at its own, for the line that a warning and an error are to name."""
import inspect
import sys

import torch
import torch.nn as nn


def here():
    return f"{__name__}:{inspect.currentframe().f_lineno}"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        print(f"{here()}: softmax in halves", file=sys.stderr)

    def forward(self, x):
        if x.dim() != 2:
            raise ValueError(f"{sys._getframe().f_code.co_name}, line {sys._getframe().f_lineno}: {x.dim()} dimensions")
        return torch.cat([torch.softmax(part, 1) for part in x.chunk(2)])
