"""Product of a tall matrix and a wide one: two thin operands, and a result far larger than both.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A, (LENGTH, THICKNESS), and B, (THICKNESS, LENGTH). Output: C, (LENGTH, LENGTH).
"""
import torch
import torch.nn as nn

LENGTH = 32768
THICKNESS = 32

FAMILY = "matmul"
SIZES = {
    "small": {"LENGTH": 1024},
    "odd": {"LENGTH": 997, "THICKNESS": 37},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(LENGTH, THICKNESS), torch.rand(THICKNESS, LENGTH)]


def get_init_inputs():
    return []
