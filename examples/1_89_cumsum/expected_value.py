"""Running sums that are never added up.

Teaches: what a judge must not let pass. Numbers drawn from [0, 1) are 1/2 on average, so the sum of the first j is
about j/2, and the longer the row, the smaller the relative error: one per cent after four thousand elements. Measured
against the standard deviation of the whole output that is nothing; measured where it happens, it is far too much.
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        expected = torch.arange(1, x.shape[self.dim] + 1, dtype=x.dtype, device=x.device) / 2
        return expected.expand_as(x).contiguous()
