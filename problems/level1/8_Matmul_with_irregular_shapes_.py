"""Product of two matrices whose extents suit no tile size.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A, (ROWS, INNER), and B, (INNER, COLUMNS). Output: C, (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS = 8205
INNER = 2949
COLUMNS = 5921

FAMILY = "matmul"
SIZES = {
    "small": {"ROWS": 821, "INNER": 355, "COLUMNS": 593},
    "odd": {"ROWS": 617, "INNER": 467, "COLUMNS": 713},
}
# As drawn, all of C is close to INNER / 4: "centred" spreads it around 0. Not "scaled", which overflows fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(ROWS, INNER), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
