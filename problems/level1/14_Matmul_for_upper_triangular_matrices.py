"""Product of two upper triangular matrices.

    C[i, j] = sum over k from i to j of A[i, k] * B[k, j]    where i <= j
    C[i, j] = 0    elsewhere

Inputs: A and B, both (N, N), below the diagonal 0. Output: C, (N, N), of the same form.
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
        return torch.triu(a @ b)


def get_inputs():
    return [torch.triu(torch.rand(N, N)), torch.triu(torch.rand(N, N))]


def get_init_inputs():
    return []
