"""Linear layer, minus a constant, times a constant, then ReLU.

    y = max((x W^T + b - SUBTRACT) * FACTOR, 0)

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
SUBTRACT = 2.0
FACTOR = 1.5

FAMILY = "matmul"
# The linear layer's results have a standard deviation of 1/3 at any size, so that ReLU leaves nearly nothing of them
# after 2 is subtracted: the smaller sizes subtract less.
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512, "SUBTRACT": 0.25},
    "odd": {"BATCH": 1019, "IN_FEATURES": 517, "OUT_FEATURES": 531, "SUBTRACT": 0.15},
}
# Natural inputs at the standard size give zeros almost everywhere, and so do all distributions but this.
DISTRIBUTIONS = ("scaled",)


class Model(nn.Module):
    def __init__(self, in_features, out_features, subtract_value, multiply_value):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.subtract_value = subtract_value
        self.multiply_value = multiply_value

    def forward(self, x):
        return torch.relu((self.linear(x) - self.subtract_value) * self.multiply_value)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, SUBTRACT, FACTOR]
