"""Gaussian error linear unit, element by element, in its exact form.

    y = x * (1 + erf(x / sqrt(2))) / 2

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
    "odd": {"BATCH": 251, "FEATURES": 16273},
}
# The inputs as drawn lie in [0, 1), where a short polynomial would do. "scaled" reaches both tails.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return F.gelu(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
