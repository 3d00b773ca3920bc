"""Product of a matrix with very long rows and a column vector.

    y[i, 0] = sum over k of A[i, k] * b[k, 0]

Inputs: A, (ROWS, INNER), and b, (INNER, 1). Output: y, (ROWS, 1).
"""
import torch
import torch.nn as nn

ROWS = 2048
INNER = 1048576

FAMILY = "matmul"
# fp16 ends at 65504: at the standard size every sum, about INNER / 4, lies beyond.
PRECISIONS = ("fp32", "bf16")
SIZES = {
    "small": {"ROWS": 256, "INNER": 32768},
    "odd": {"ROWS": 251, "INNER": 32779},
}
# As drawn, all of y is close to INNER / 4: "centred" spreads it around 0.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, matrix, vector):
        return matrix @ vector


def get_inputs():
    return [torch.rand(ROWS, INNER), torch.rand(INNER, 1)]


def get_init_inputs():
    return []
