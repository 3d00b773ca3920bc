"""Linear layer, normalisation of groups of features, the smallest feature of each row, and a bias against every row.

    z             = x W^T + b
    g[n, c]       = (z[n, c] - mean of the group of c) / sqrt(variance of the group of c + eps) * weight[c] + shift[c]
    m[n]          = min over c of g[n, c]
    y[0, c, n, 0] = m[n] + bias[c]

A group is OUT_FEATURES / GROUPS neighbouring features of one row; weight and shift are `group_norm.weight` and
`group_norm.bias`; eps is 1e-5.

Input: x, (BATCH, IN_FEATURES). Output: y, (1, OUT_FEATURES, BATCH, 1): the minima, (BATCH, 1), meet a bias of shape
(1, OUT_FEATURES, 1, 1), so every bias is added to every minimum.
"""
import torch
import torch.nn as nn

FAMILY = "matmul"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
GROUPS = 512

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024, "GROUPS": 64},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1003, "GROUPS": 59},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, num_groups, bias_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.group_norm = nn.GroupNorm(num_groups, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        normalised = self.group_norm(self.gemm(x))
        return normalised.amin(dim=1, keepdim=True) + self.bias


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUPS, (1, OUT_FEATURES, 1, 1)]
