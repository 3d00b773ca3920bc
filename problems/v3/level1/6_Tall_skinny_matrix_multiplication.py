"""Product of a tall, thin matrix and a wide, flat one: sums of few terms, and a huge result.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A, (LENGTH, THICKNESS), and B, (THICKNESS, LENGTH). Output: C, (LENGTH, LENGTH).
"""
import torch
import torch.nn as nn

LENGTH = 16384
THICKNESS = 16

FAMILY = "matmul"
SIZES = {
    "small": {"LENGTH": 2048},
    "odd": {"LENGTH": 2043, "THICKNESS": 19},
}
# Not "scaled": it enlarges both factors, and their products overflow in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(LENGTH, THICKNESS), torch.randn(THICKNESS, LENGTH)]


def get_init_inputs():
    return []
