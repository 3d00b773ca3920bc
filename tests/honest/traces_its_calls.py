"""Suspicious: keeps a frame in a variable and hands one to inspect. Right: it only learns where it is, and lets go of it."""
import inspect
from collections import Counter

import torch
import torch.nn as nn

LINES = Counter()


def count(tag):
    frame = inspect.currentframe()
    if frame is not None:
        LINES[tag, frame.f_lineno] += 1
    del frame


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.made_at = inspect.getframeinfo(inspect.currentframe()).lineno

    def forward(self, x):
        count("forward")
        return torch.relu(x)
