"""Minimum over the middle dimension of a tensor.

    y[n, j] = min over i of x[n, i, j]

Input: x, (BATCH, ROWS, COLUMNS). Output: y, (BATCH, COLUMNS): values only, not where they were found.
"""
import torch
import torch.nn as nn

BATCH = 128
ROWS = 4096
COLUMNS = 4095
DIM = 1

FAMILY = "reduction"
# Few rows: the minimum of many is close to 0 whatever the seed.
SIZES = {
    "small": {"BATCH": 64, "ROWS": 24, "COLUMNS": 4096},
    "odd": {"BATCH": 61, "ROWS": 27, "COLUMNS": 4098},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.min(dim=self.dim).values


def get_inputs():
    return [torch.rand(BATCH, ROWS, COLUMNS)]


def get_init_inputs():
    return [DIM]
