"""Matrix times a number.

    C[i, j] = s * A[i, j]

Inputs: A, (ROWS, COLUMNS), and s, a Python number, SCALAR. Output: C, (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS = 65536
COLUMNS = 16384
SCALAR = 3.14

FAMILY = "pointwise"
# "odd" has another scalar too, so that 3.14 cannot be built in.
SIZES = {
    "small": {"ROWS": 2048, "COLUMNS": 2048},
    "odd": {"ROWS": 2011, "COLUMNS": 2037, "SCALAR": -0.73},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, matrix, scalar):
        return matrix * scalar


def get_inputs():
    return [torch.rand(ROWS, COLUMNS), SCALAR]


def get_init_inputs():
    return []
