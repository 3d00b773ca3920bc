"""Linear layer, swish, an offset for each feature, and normalisation of groups of features.

    z       = x W^T + b
    s       = z / (1 + exp(-z)) + bias
    y[n, j] = (s[n, j] - mean of the group of j) / sqrt(variance of the group of j + eps) * weight[j] + shift[j]

A group is OUT_FEATURES / GROUPS neighbouring features of one sample; the variance is divided by their number; eps is
1e-5; weight and shift are `group_norm.weight` and `group_norm.bias`; W and b are `matmul.weight` and `matmul.bias`.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 4096
OUT_FEATURES = 4096
GROUPS = 32

FAMILY = "matmul"
SIZES = {
    "small": {"IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 123, "IN_FEATURES": 2027, "OUT_FEATURES": 2035, "GROUPS": 37},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, num_groups, bias_shape):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.group_norm = nn.GroupNorm(num_groups, out_features)

    def forward(self, x):
        s = F.silu(self.matmul(x)) + self.bias
        return self.group_norm(s)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUPS, (OUT_FEATURES,)]
