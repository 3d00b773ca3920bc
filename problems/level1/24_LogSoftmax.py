"""Logarithm of the softmax of every row.

    y[i, j] = x[i, j] - log(sum over k of exp(x[i, k]))

Input: x, (BATCH, FEATURES). Output: y, the same shape; the exponentials of every row sum to 1.
"""
import torch
import torch.nn as nn

BATCH = 4096
FEATURES = 393216

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 64, "FEATURES": 65536},
    "odd": {"BATCH": 59, "FEATURES": 65543},
}
# As drawn, the sums of all rows are alike. Those of "scaled" are not, and overflow where nobody subtracts the maximum.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return torch.log_softmax(x, dim=1)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
