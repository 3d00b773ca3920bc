"""Linear layer, a constant factor, clamping to an interval, then exact GELU.

    c = min(max(SCALE * (x W^T + b), LOWEST), HIGHEST)
    y = c * (1 + erf(c / sqrt(2))) / 2

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2048
IN_FEATURES = 8192
OUT_FEATURES = 8192
SCALE = 0.5
LOWEST = -2
HIGHEST = 2

SIZES = {
    "small": {"BATCH": 512, "IN_FEATURES": 1024, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 509, "IN_FEATURES": 1019, "OUT_FEATURES": 1013},
}
# "scaled" first: the usual results stay far inside the interval.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "matmul"


class Model(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor, hardtanh_min, hardtanh_max):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor
        self.clamp = nn.Hardtanh(hardtanh_min, hardtanh_max)

    def forward(self, x):
        return F.gelu(self.clamp(self.gemm(x) * self.scaling_factor))


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, SCALE, LOWEST, HIGHEST]
