"""Mean over the middle dimension of a tensor.

    y[n, j] = 1 / ROWS * sum over i of x[n, i, j]

Input: x, (BATCH, ROWS, COLUMNS). Output: y, (BATCH, COLUMNS): the averaged dimension is gone.
"""
import torch
import torch.nn as nn

BATCH = 128
ROWS = 4096
COLUMNS = 4095
DIM = 1

FAMILY = "reduction"
SIZES = {
    "small": {"BATCH": 16, "ROWS": 192, "COLUMNS": 2047},
    "odd": {"BATCH": 13, "ROWS": 211, "COLUMNS": 2053},
}
# As drawn, every mean is near 1/2, so that a forgotten row hardly shows; with mean 0 it does.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.mean(dim=self.dim)


def get_inputs():
    return [torch.rand(BATCH, ROWS, COLUMNS)]


def get_init_inputs():
    return [DIM]
