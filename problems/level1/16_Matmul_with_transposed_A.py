"""Product of two matrices, the first of which is stored transposed.

    C[i, j] = sum over k of A[k, i] * B[k, j]

Inputs: A, (INNER, ROWS), and B, (INNER, COLUMNS). Output: C, (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS = 2048
INNER = 8192
COLUMNS = 4096

FAMILY = "matmul"
SIZES = {
    "small": {"ROWS": 384, "INNER": 1536, "COLUMNS": 512},
    "odd": {"ROWS": 387, "INNER": 1531, "COLUMNS": 501},
}
# As drawn, all of C is close to INNER / 4: "centred" spreads it around 0. Not "scaled", which overflows fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a.T @ b


def get_inputs():
    return [torch.rand(INNER, ROWS), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
