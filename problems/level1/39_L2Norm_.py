"""Division of every row by its Euclidean length.

    y[i, j] = x[i, j] / sqrt(sum over k of x[i, k]^2)

No epsilon is added.

Input: x, (BATCH, FEATURES). Output: y, the same shape; every row has length 1.
"""
import torch
import torch.nn as nn

BATCH = 32768
FEATURES = 65535

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 64},
    "odd": {"BATCH": 61, "FEATURES": 65539},
}
# As drawn, the length of a row is known beforehand: the square root of a third of FEATURES. "centred" halves it.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        return x / length


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
