"""Product of two symmetric matrices.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A and B, both (N, N), with A[i, k] = A[k, i] and B alike. Output: C, (N, N), in general not symmetric.
"""
import torch
import torch.nn as nn

N = 4096

FAMILY = "matmul"
SIZES = {
    "small": {"N": 768},
    "odd": {"N": 771},
}
# As drawn, all of C is close to N / 4: "centred" spreads it around 0. The others break the symmetry or overflow fp16.
DISTRIBUTIONS = ("centred",)


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def symmetric(x):
    return (x + x.T) / 2


def get_inputs():
    return [symmetric(torch.rand(N, N)), symmetric(torch.rand(N, N))]


def get_init_inputs():
    return []
