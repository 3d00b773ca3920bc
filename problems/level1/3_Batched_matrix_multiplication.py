"""Products of pairs of matrices, one pair for each member of a batch.

    C[n, i, j] = sum over k of A[n, i, k] * B[n, k, j]

Inputs: A, (BATCH, ROWS, INNER), and B, (BATCH, INNER, COLUMNS). Output: C, (BATCH, ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

BATCH = 128
ROWS = 512
INNER = 1024
COLUMNS = 2048

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 16, "ROWS": 128, "INNER": 256, "COLUMNS": 512},
    "odd": {"BATCH": 13, "ROWS": 131, "INNER": 261, "COLUMNS": 509},
}
# As drawn, all of C is close to INNER / 4: "centred" spreads it around 0. Not "scaled", which overflows fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.rand(BATCH, ROWS, INNER), torch.rand(BATCH, INNER, COLUMNS)]


def get_init_inputs():
    return []
