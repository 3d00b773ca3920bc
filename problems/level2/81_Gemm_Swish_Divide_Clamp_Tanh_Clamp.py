"""Linear layer, swish, half of it clamped, tanh, and clamped again.

    z = x W^T + b
    c = z / (1 + exp(-z)) / 2, clamped to [-1, 1]
    y = tanh(c), clamped to [-1, 1]

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES). A tanh is within [-1, 1] already, so the second
clamp changes nothing.
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
# Natural values of c stay clear of 1; only "scaled" shows whether the first clamp is there.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)

    def forward(self, x):
        halved = F.silu(self.gemm(x)) / 2
        return torch.tanh(halved.clamp(-1.0, 1.0)).clamp(-1.0, 1.0)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
