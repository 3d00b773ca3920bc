"""Products of many pairs of small matrices.

    C[n, i, j] = sum over k of A[n, i, k] * B[n, k, j]

Inputs: A, (BATCH, ROWS, INNER), and B, (BATCH, INNER, COLUMNS). Output: C, (BATCH, ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

BATCH = 128
ROWS = 128
INNER = 256
COLUMNS = 512

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 48, "INNER": 128, "COLUMNS": 256},
    "odd": {"BATCH": 47, "ROWS": 123, "INNER": 133, "COLUMNS": 251},
}
# Not "scaled": it enlarges both factors, and their products overflow in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(BATCH, ROWS, INNER), torch.randn(BATCH, INNER, COLUMNS)]


def get_init_inputs():
    return []
