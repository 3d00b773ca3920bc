"""ReLU that raises an exception when it is called.

Teaches: an exception in forward is the candidate's failure, and its traceback is part of the evidence.
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        threshold = torch.zeros(3)  # fits no row of x
        return torch.maximum(x, threshold)
