"""Linear layer, swish, and a constant factor.

    z = x W^T + b
    y = SCALE * z / (1 + exp(-z))

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 4096
OUT_FEATURES = 4096
SCALE = 2.0

FAMILY = "matmul"
SIZES = {
    "small": {"IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 123, "IN_FEATURES": 2027, "OUT_FEATURES": 2035},
}
# z as drawn stays within 3 of 0; "scaled" reaches both tails, where exp(-z) may overflow.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return self.scaling_factor * F.silu(self.matmul(x))


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, SCALE]
