"""Linear layer, ReLU, and division by a constant.

    y = max(x W^T + b, 0) / DIVISOR

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
DIVISOR = 2.0

SIZES = {
    "small": {"BATCH": 512, "IN_FEATURES": 1024, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 509, "IN_FEATURES": 1019, "OUT_FEATURES": 1013},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "matmul"


class Model(nn.Module):
    def __init__(self, in_features, out_features, divisor):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.divisor = divisor

    def forward(self, x):
        return torch.relu(self.linear(x)) / self.divisor


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, DIVISOR]
