"""Sum over one dimension of a tensor, the middle one.

    y[n, 0, j] = sum over i of x[n, i, j]

Input: x, (BATCH, ROWS, COLUMNS). Output: y, (BATCH, 1, COLUMNS): the dimension summed over keeps an extent of 1.
"""
import torch
import torch.nn as nn

BATCH = 64
ROWS = 256
COLUMNS = 256
DIM = 1

FAMILY = "reduction"
# "small" is no smaller: a CPU sums 17 MB in a third of a millisecond.
SIZES = {
    "small": {"BATCH": 64},
    "odd": {"BATCH": 61, "ROWS": 267, "COLUMNS": 251},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.sum(dim=self.dim, keepdim=True)


def get_inputs():
    return [torch.randn(BATCH, ROWS, COLUMNS)]


def get_init_inputs():
    return [DIM]
