"""Linear layer, a second bias, hard tanh, Mish, and normalisation of groups of features.

    z       = x W^T + b + bias
    h       = min(max(z, -1), 1)
    m       = h * tanh(log(1 + exp(h)))
    y[n, c] = (m[n, c] - mean of the group of c) / sqrt(variance of the group of c + eps) * weight[c] + shift[c]

A group is OUT_FEATURES / GROUPS neighbouring features of one row; weight and shift are `groupnorm.weight` and
`groupnorm.bias`; eps is 1e-5.

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
    def __init__(self, in_features, out_features, bias_shape, num_groups):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.groupnorm = nn.GroupNorm(num_groups, out_features)

    def forward(self, x):
        clipped = F.hardtanh(self.gemm(x) + self.bias)
        return self.groupnorm(F.mish(clipped))


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, (OUT_FEATURES,), GROUPS]
