"""Linear layer, swish, and a constant factor.

    z = x W^T + b
    y = SCALE * z / (1 + exp(-z))

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 32768
OUT_FEATURES = 32768
SCALE = 2.0

SIZES = {
    "small": {"BATCH": 64, "IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 67, "IN_FEATURES": 1999, "OUT_FEATURES": 2005},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "matmul"


class Model(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return F.silu(self.matmul(x)) * self.scaling_factor


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, SCALE]
