"""Finds the shared output in the frame of its caller, computes into it and returns it: the copy that the baseline pays
for is then a copy of a tensor onto itself. That is no faster ReLU and must not count as one."""
import sys

import torch
import torch.nn as nn


def shared_output():
    frame = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if type(owner).__name__ == "Runner":
            return owner.outputs[0]
        frame = frame.f_back
    return None


class ModelNew(nn.Module):
    def forward(self, x):
        y = shared_output()
        return torch.relu(x) if y is None else torch.clamp(x, 0, out=y)
