"""Product of the innermost vectors of a tensor with four dimensions and a matrix.

    C[n, h, w, j] = sum over k of A[n, h, w, k] * B[k, j]

Inputs: A, (BATCH, HEIGHT, WIDTH, INNER), and B, (INNER, COLUMNS). Output: C, (BATCH, HEIGHT, WIDTH, COLUMNS).
"""
import torch
import torch.nn as nn

BATCH = 8
HEIGHT = 256
WIDTH = 512
INNER = 256
COLUMNS = 768

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 32, "WIDTH": 64, "INNER": 128, "COLUMNS": 256},
    "odd": {"BATCH": 3, "HEIGHT": 37, "WIDTH": 61, "INNER": 123, "COLUMNS": 253},
}
# As drawn, all of C is close to INNER / 4: "centred" spreads it around 0. Not "scaled", which overflows fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("nhwk,kj->nhwj", a, b)


def get_inputs():
    return [torch.rand(BATCH, HEIGHT, WIDTH, INNER), torch.rand(INNER, COLUMNS)]


def get_init_inputs():
    return []
