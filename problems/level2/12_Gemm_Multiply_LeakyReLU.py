"""Linear layer, times a constant, then leaky ReLU.

    z = (x W^T + b) * FACTOR
    y = z where z > 0, SLOPE * z elsewhere

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
FACTOR = 2.0
SLOPE = 0.1

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    "odd": {"BATCH": 1013, "IN_FEATURES": 515, "OUT_FEATURES": 533},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, multiplier, negative_slope):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.multiplier = multiplier
        self.negative_slope = negative_slope

    def forward(self, x):
        return F.leaky_relu(self.gemm(x) * self.multiplier, self.negative_slope)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, FACTOR, SLOPE]
