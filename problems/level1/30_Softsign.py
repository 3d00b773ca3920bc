"""Softsign, element by element: a number divided by one more than its absolute value.

    y = x / (1 + |x|)

Input: x, (BATCH, FEATURES). Output: y, the same shape.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
FEATURES = 393216

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 512, "FEATURES": 8192},
    "odd": {"BATCH": 489, "FEATURES": 8269},
}
# No input as drawn is negative, where leaving out |.| would not show: every distribution here has negative numbers.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return F.softsign(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
