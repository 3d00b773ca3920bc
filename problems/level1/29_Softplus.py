"""Softplus, a smooth rectified linear unit, element by element.

    y = log(1 + exp(x))

Input: x, (BATCH, FEATURES). Output: y, the same shape. Above 20 PyTorch returns x itself, which is the same in fp32.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
FEATURES = 393216

FAMILY = "pointwise"
SIZES = {
    "small": {"BATCH": 512, "FEATURES": 8192},
    "odd": {"BATCH": 487, "FEATURES": 8263},
}
# "scaled" shows what [0, 1) hides: an exp that overflows, and precision lost where y is close to 0.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return F.softplus(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES)]


def get_init_inputs():
    return []
