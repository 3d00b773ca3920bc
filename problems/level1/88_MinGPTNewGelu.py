"""GELU activation of every element, approximated with tanh.

    y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))

Input: x, (ROWS, COLUMNS). Output: y, the same shape.
"""
import math

import torch
import torch.nn as nn

ROWS = 8192
COLUMNS = 8192

SIZES = {
    "small": {"ROWS": 2048, "COLUMNS": 2048},
    "odd": {"ROWS": 2039, "COLUMNS": 2053},
}
# As drawn, inputs lie in [0, 1): "centred" has negative ones, "scaled" reaches both tails.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")
FAMILY = "pointwise"


class Model(nn.Module):
    def forward(self, x):
        bent = math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))
        return 0.5 * x * (1 + torch.tanh(bent))


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
