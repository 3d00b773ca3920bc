"""Product of two matrices that are short in the dimension summed over: the result dwarfs both operands.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A, (ROWS, INNER), and B, (INNER, COLUMNS). Output: C, (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS = 32768
INNER = 64
COLUMNS = 32768

FAMILY = "matmul"
SIZES = {
    "small": {"ROWS": 1536, "INNER": 64, "COLUMNS": 1536},
    "odd": {"ROWS": 1499, "INNER": 59, "COLUMNS": 1543},
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
