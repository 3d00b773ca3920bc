"""Product of two lower triangular matrices.

    C[i, j] = sum over k from j to i of A[i, k] * B[k, j]    where i >= j
    C[i, j] = 0    elsewhere

Inputs: A and B, both (N, N), above the diagonal 0. Output: C, (N, N), of the same form.
"""
import torch
import torch.nn as nn

N = 4096

FAMILY = "matmul"
SIZES = {
    "small": {"N": 768},
    "odd": {"N": 771},
}
# The others would fill the half that has to be 0.
DISTRIBUTIONS = ("structured",)


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tril(a @ b)


def get_inputs():
    return [torch.tril(torch.rand(N, N)), torch.tril(torch.rand(N, N))]


def get_init_inputs():
    return []
