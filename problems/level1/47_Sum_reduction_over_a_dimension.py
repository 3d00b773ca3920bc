"""Sum over the middle dimension of a tensor.

    y[n, 0, j] = sum over i of x[n, i, j]

Input: x, (BATCH, ROWS, COLUMNS). Output: y, (BATCH, 1, COLUMNS): the summed dimension stays, with extent 1.
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
# As drawn, every sum is near ROWS / 2, so that a forgotten row hardly shows; with mean 0 it does.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.sum(dim=self.dim, keepdim=True)


def get_inputs():
    return [torch.rand(BATCH, ROWS, COLUMNS)]


def get_init_inputs():
    return [DIM]
