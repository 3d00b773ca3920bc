"""Linear layer, swish, a bias for each feature, and normalisation of groups of features.

    z = x W^T + b
    s = z / (1 + exp(-z)) + bias
    y[n, j] = (s[n, j] - mean of the group of j) / sqrt(variance of the group of j + eps) * weight[j] + shift[j]

A group is OUT_FEATURES / GROUPS neighbouring features of one row; weight and shift are `group_norm.weight` and
`group_norm.bias`; eps is 1e-5.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32768
IN_FEATURES = 1024
OUT_FEATURES = 4096
GROUPS = 64

SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1021, "IN_FEATURES": 251, "OUT_FEATURES": 1015, "GROUPS": 35},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "matmul"


class Model(nn.Module):
    def __init__(self, in_features, out_features, num_groups, bias_shape):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.group_norm = nn.GroupNorm(num_groups, out_features)

    def forward(self, x):
        return self.group_norm(F.silu(self.matmul(x)) + self.bias)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUPS, (OUT_FEATURES,)]
