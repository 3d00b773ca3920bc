"""Product of two rectangular matrices of normally distributed numbers.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A, (ROWS, INNER), and B, (INNER, COLUMNS). Output: C, (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS = 1024
INNER = 4096
COLUMNS = 2048

FAMILY = "matmul"
SIZES = {
    "small": {"ROWS": 512, "INNER": 1024, "COLUMNS": 768},
    "odd": {"ROWS": 507, "INNER": 1021, "COLUMNS": 771},
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
