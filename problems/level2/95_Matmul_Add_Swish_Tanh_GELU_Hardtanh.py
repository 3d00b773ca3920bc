"""Linear layer and a second bias, followed by swish, tanh, exact GELU and hard tanh.

    z = x W^T + b + add_value
    t = tanh(z / (1 + exp(-z)))
    g = t * (1 + erf(t / sqrt(2))) / 2
    y = min(max(g, -1), 1)

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES). The GELU of a tanh lies in (-0.17, 0.85), so the hard
tanh changes nothing.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "matmul"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1021},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, add_value_shape):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.add_value = nn.Parameter(torch.randn(add_value_shape))

    def forward(self, x):
        z = self.matmul(x) + self.add_value
        return F.hardtanh(F.gelu(torch.tanh(F.silu(z))))


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, (OUT_FEATURES,)]
