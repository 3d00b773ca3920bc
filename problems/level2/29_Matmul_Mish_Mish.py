"""Linear layer, then the activation Mish twice.

    mish(t) = t * tanh(log(1 + exp(t)))
    y       = mish(mish(x W^T + b))

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    "odd": {"BATCH": 1031, "IN_FEATURES": 509, "OUT_FEATURES": 523},
}
# "scaled" reaches the tails of Mish, where exp(t) overflows; natural inputs stay near 0.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return F.mish(F.mish(self.linear(x)))


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
