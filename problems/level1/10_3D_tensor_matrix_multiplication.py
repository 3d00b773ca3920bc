"""Product of every matrix in a stack with one common matrix.

    C[n, i, j] = sum over k of A[n, i, k] * B[k, j]

Inputs: A, (BATCH, ROWS, INNER), and B, (INNER, COLUMNS). Output: C, (BATCH, ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

BATCH = 16
ROWS = 1024
INNER = 2048
COLUMNS = 768

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 8, "ROWS": 128, "INNER": 512, "COLUMNS": 384},
    "odd": {"BATCH": 7, "ROWS": 133, "INNER": 517, "COLUMNS": 389},
}
# As drawn, all of C is close to INNER / 4: "centred" spreads it around 0. Not "scaled", which overflows fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(BATCH, ROWS, INNER), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
