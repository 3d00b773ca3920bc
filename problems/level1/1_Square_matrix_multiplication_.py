"""Product of two square matrices.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A and B, both (N, N). Output: C, (N, N).
"""
import torch
import torch.nn as nn

N = 4096

FAMILY = "matmul"
SIZES = {
    "small": {"N": 512},
    "odd": {"N": 517},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(N, N), torch.rand(N, N)]


def get_init_inputs():
    return []
