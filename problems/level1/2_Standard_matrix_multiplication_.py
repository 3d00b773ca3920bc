"""Product of two rectangular matrices.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A, (ROWS, INNER), and B, (INNER, COLUMNS). Output: C, (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS = 2048
INNER = 8192
COLUMNS = 4096

FAMILY = "matmul"
SIZES = {
    "small": {"ROWS": 384, "INNER": 1536, "COLUMNS": 512},
    "odd": {"ROWS": 379, "INNER": 1541, "COLUMNS": 509},
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
