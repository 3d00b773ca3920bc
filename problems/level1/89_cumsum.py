"""Running sum along every row.

    y[i, j] = sum over k <= j of x[i, k]

Input: x, (ROWS, COLUMNS). Output: y, the same shape.
"""
import torch
import torch.nn as nn

ROWS = 32768
COLUMNS = 32768
DIM = 1

FAMILY = "scan"
ERRORS_WANDER = "a rounding is carried on along the row, so whole blocks err alike, in another place each time"
SIZES = {
    "small": {"ROWS": 512, "COLUMNS": 4096},
    "odd": {"ROWS": 509, "COLUMNS": 4099},
}
# As drawn, the inputs add up to half the index, give or take little; with mean 0 a sum says nothing of the next one.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.cumsum(x, dim=self.dim)


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return [DIM]
