"""Division of every row by the mean magnitude of its elements.

    y[i, j] = x[i, j] / (mean over k of |x[i, k]|)

The mean, not the sum: the magnitudes of a row of y add up to FEATURES. No epsilon is added.

Input: x, (BATCH, FEATURES). Output: y, the same shape.
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
# As drawn, nothing is negative: a kernel that forgets the magnitude passes, and fails "centred".
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        magnitude = x.abs().mean(dim=1, keepdim=True)
        return x / magnitude


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
