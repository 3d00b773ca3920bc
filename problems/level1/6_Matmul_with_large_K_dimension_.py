"""Product of two matrices that are long in the dimension summed over: a small result, each element a huge sum.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A, (ROWS, INNER), and B, (INNER, COLUMNS). Output: C, (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS = 256
INNER = 524288
COLUMNS = 256

FAMILY = "matmul"
# fp16 ends at 65504: at the standard size every sum, about INNER / 4, lies beyond.
PRECISIONS = ("fp32", "bf16")
SIZES = {
    "small": {"ROWS": 128, "INNER": 16384, "COLUMNS": 128},
    "odd": {"ROWS": 117, "INNER": 16411, "COLUMNS": 139},
}
# As drawn, all of C is close to INNER / 4: "centred" spreads it around 0.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(ROWS, INNER), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
