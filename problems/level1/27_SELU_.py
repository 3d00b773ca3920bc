"""Scaled exponential linear unit, element by element.

    y = s * x                      where x > 0
    y = s * a * (exp(x) - 1)       elsewhere

Input: x, (BATCH, FEATURES). Output: y, the same shape.

The constants are those of the publication, a = 1.6732632423543772 and s = 1.0507009873554805.
"""
import torch
import torch.nn as nn

BATCH = 4096
FEATURES = 393216

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 512, "FEATURES": 8192},
    "odd": {"BATCH": 501, "FEATURES": 8237},
}
# No input as drawn is negative: every distribution here has negative numbers, and "scaled" reaches the tail.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return torch.selu(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
