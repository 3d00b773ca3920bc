"""Product of a matrix with few long rows and a column vector.

    y[i, 0] = sum over k of A[i, k] * b[k, 0]

Inputs: A, (ROWS, INNER), and b, (INNER, 1). Output: y, (ROWS, 1).
"""
import torch
import torch.nn as nn

ROWS = 256
INNER = 131072

FAMILY = "matmul"
SIZES = {
    "small": {"INNER": 49152},
    "odd": {"ROWS": 251, "INNER": 49157},
}
# Not "scaled": it enlarges both factors, and their products overflow in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, matrix, vector):
        return matrix @ vector


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER, 1)]


def get_init_inputs():
    return []
