"""Linear layer, normalisation of groups of features, and two swishes with a learned factor between them.

    z       = x W^T + b
    g[n, c] = (z[n, c] - mean of the group of c) / sqrt(variance of the group of c + eps) * weight[c] + shift[c]
    y[n, c] = swish(multiply_weight[c] * swish(g[n, c])),  swish(t) = t / (1 + exp(-t))

A group is OUT_FEATURES / GROUPS neighbouring features of one row; weight and shift are `group_norm.weight` and
`group_norm.bias`; eps is 1e-5.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "matmul"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
GROUPS = 256

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024, "GROUPS": 32},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1023, "GROUPS": 31},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, num_groups, multiply_weight_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.group_norm = nn.GroupNorm(num_groups, out_features)
        self.multiply_weight = nn.Parameter(torch.randn(multiply_weight_shape))

    def forward(self, x):
        gated = F.silu(self.group_norm(self.gemm(x)))
        return F.silu(gated * self.multiply_weight)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUPS, (OUT_FEATURES,)]
