"""Linear layer whose result is scaled and added to itself.

    z = x W^T + b
    y = SCALE * z + z

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 16384
IN_FEATURES = 4096
OUT_FEATURES = 4096
SCALE = 0.5

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 2048, "IN_FEATURES": 256, "OUT_FEATURES": 256},
    "odd": {"BATCH": 2027, "IN_FEATURES": 251, "OUT_FEATURES": 263},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        z = self.matmul(x)
        residual = z.clone().detach()
        return z * self.scaling_factor + residual


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, SCALE]
