"""Product of two square matrices of normally distributed numbers.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A and B, both (N, N). Output: C, (N, N).
"""
import torch
import torch.nn as nn

N = 2048

FAMILY = "matmul"
SIZES = {
    "small": {"N": 768},
    "odd": {"N": 763},
}
# Not "scaled": it enlarges both factors, and their products overflow in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs():
    return []
