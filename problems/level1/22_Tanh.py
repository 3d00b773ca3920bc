"""Hyperbolic tangent, element by element.

    y = (exp(x) - exp(-x)) / (exp(x) + exp(-x))

Input: x, (BATCH, FEATURES). Output: y, the same shape. For large |x| it is -1 or 1.
"""
import torch
import torch.nn as nn

BATCH = 4096
FEATURES = 393216

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 512, "FEATURES": 8192},
    "odd": {"BATCH": 507, "FEATURES": 8221},
}
# The inputs as drawn lie in [0, 1). "scaled" reaches both tails, where exp overflows and the formula above gives NaN.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
