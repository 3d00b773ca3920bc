"""Product of a diagonal matrix, of which only the diagonal is stored, and a full one.

    C[i, j] = (diag(d) B)[i, j] = d[i] * B[i, j]

Inputs: d, (ROWS,), and B, (ROWS, COLUMNS). Output: C, (ROWS, COLUMNS): every row of B times its own number.
"""
import torch
import torch.nn as nn

ROWS = 4096
COLUMNS = 4096

FAMILY = "pointwise"
SIZES = {
    "small": {"ROWS": 2048, "COLUMNS": 2048},
    "odd": {"ROWS": 1987, "COLUMNS": 2021},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, diagonal, b):
        return diagonal[:, None] * b


def get_inputs():
    return [torch.rand(ROWS), torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
