"""Softmax of every row of a matrix.

    y[i, j] = exp(x[i, j]) / sum over k of exp(x[i, k])

Input: x, (BATCH, FEATURES). Output: y, the same shape; every row adds up to 1.
"""
import torch
import torch.nn as nn

BATCH = 256
FEATURES = 16384

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 192},
    "odd": {"BATCH": 187, "FEATURES": 16381},
}
# "scaled": exp overflows unless the row's maximum is subtracted first.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return []
