"""Leaky rectified linear unit, element by element: negative numbers shrink instead of vanishing.

    y = x            where x >= 0
    y = SLOPE * x    elsewhere

Input: x, (BATCH, FEATURES). Output: y, the same shape.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
FEATURES = 393216
SLOPE = 0.01

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 512, "FEATURES": 8192},
    "odd": {"BATCH": 499, "FEATURES": 8209},
}
# No input as drawn is negative, so that the identity would pass: every distribution here has negative numbers.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return F.leaky_relu(x, SLOPE)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
