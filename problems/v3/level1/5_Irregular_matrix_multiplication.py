"""Product of two matrices with extents that no tile divides.

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
    "small": {"ROWS": 1019, "INNER": 437, "COLUMNS": 741},
    "odd": {"ROWS": 727, "INNER": 571, "COLUMNS": 811},
}
# Not "scaled": it enlarges both factors, and their products overflow in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS)]


def get_init_inputs():
    return []
