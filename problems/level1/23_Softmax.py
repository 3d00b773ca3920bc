"""Softmax of every row.

    y[i, j] = exp(x[i, j]) / sum over k of exp(x[i, k])

Input: x, (BATCH, FEATURES). Output: y, the same shape; every row sums to 1.
"""
import torch
import torch.nn as nn

BATCH = 4096
FEATURES = 393216

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 64, "FEATURES": 65536},
    "odd": {"BATCH": 61, "FEATURES": 65539},
}
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
