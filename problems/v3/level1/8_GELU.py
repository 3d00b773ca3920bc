"""Gaussian error linear unit of every element, with the error function itself and not its tanh approximation.

    y = x * (1 + erf(x / sqrt(2))) / 2

Input: x, (BATCH, FEATURES). Output: y, the same shape.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 256
FEATURES = 16384

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 192},
    "odd": {"BATCH": 187, "FEATURES": 16381},
}
# "scaled" reaches far into both tails.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return F.gelu(x)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return []
