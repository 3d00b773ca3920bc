"""Linear layer, division by a constant, and exact GELU.

    z = (x W^T + b) / DIVISOR
    y = z * (1 + erf(z / sqrt(2))) / 2

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 4096
OUT_FEATURES = 4096
DIVISOR = 10.0

FAMILY = "matmul"
SIZES = {
    "small": {"IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 123, "IN_FEATURES": 2027, "OUT_FEATURES": 2035},
}
# z as drawn stays within 0.4 of 0, where y is nearly z / 2 + 0.4 z^2; "scaled" reaches both tails.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, input_size, output_size, divisor):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.divisor = divisor

    def forward(self, x):
        z = self.linear(x) / self.divisor
        return F.gelu(z)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, DIVISOR]
