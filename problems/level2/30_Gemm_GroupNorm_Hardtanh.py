"""Linear layer, normalisation of groups of features, and clamping.

    z       = x W^T + b
    g[n, o] = (z[n, o] - mean of the group of o) / sqrt(variance of the group of o + eps) * weight[o] + shift[o]
    y       = clamp(g, LOWEST, HIGHEST)

A group is OUT_FEATURES / GROUPS neighbouring features of one sample; the variance divides by their number; eps is 1e-5;
weight and shift are `group_norm.weight` and `group_norm.bias`.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
GROUPS = 16
LOWEST = -2.0
HIGHEST = 2.0

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    "odd": {"BATCH": 1003, "IN_FEATURES": 513, "OUT_FEATURES": 518, "GROUPS": 14},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, num_groups, hardtanh_min, hardtanh_max):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.group_norm = nn.GroupNorm(num_groups, out_features)
        self.hardtanh = nn.Hardtanh(hardtanh_min, hardtanh_max)

    def forward(self, x):
        return self.hardtanh(self.group_norm(self.gemm(x)))


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUPS, LOWEST, HIGHEST]
