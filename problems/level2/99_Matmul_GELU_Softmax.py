"""Linear layer, exact GELU, then softmax of every row.

    z = x W^T + b
    g = z * (1 + erf(z / sqrt(2))) / 2
    y[i, j] = exp(g[i, j]) / sum over k of exp(g[i, k])

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES); every row sums to 1.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192

FAMILY = "matmul"
SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1021},
}
# Not "scaled": logits far from 0 carry rounding errors of their own size, and the softmax would keep only those.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return torch.softmax(F.gelu(self.linear(x)), dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
