"""Linear layer to which its own sigmoid, scaled, is added.

    z = x W^T + b
    y = z + SCALE / (1 + exp(-z))

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

FAMILY = "matmul"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
SCALE = 2.0

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1021},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x):
        z = self.gemm(x)
        return z + self.scale * torch.sigmoid(z)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, SCALE]
