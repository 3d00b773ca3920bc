"""Piecewise linear stand-in for the sigmoid, element by element.

    y = min(max(x + 3, 0), 6) / 6

Input: x, (BATCH, FEATURES). Output: y, the same shape. Below -3 it is 0, above 3 it is 1.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
FEATURES = 393216

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 512, "FEATURES": 8192},
    "odd": {"BATCH": 505, "FEATURES": 8243},
}
# Between -3 and 3 this is a straight line, and inputs as drawn stay there: only "scaled" leaves it on both sides.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return F.hardsigmoid(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
