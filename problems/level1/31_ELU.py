"""Exponential linear unit, element by element.

    y = x                         where x > 0
    y = ALPHA * (exp(x) - 1)      elsewhere

Input: x, (BATCH, FEATURES). Output: y, the same shape.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
FEATURES = 393216
ALPHA = 1.0

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 512, "FEATURES": 8192},
    "odd": {"BATCH": 495, "FEATURES": 8273},
}
# No input as drawn is negative, so that the identity would pass: every distribution here has negative numbers.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return F.elu(x, alpha=self.alpha)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return [ALPHA]
