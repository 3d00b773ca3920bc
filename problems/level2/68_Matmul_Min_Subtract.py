"""Linear layer, then the distance by which each element falls short of a learned number, as a negative value.

    z = x W^T + b
    y = min(z, constant) - constant

`constant` is a parameter of one element.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES), at most 0.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_FEATURES = 16384
OUT_FEATURES = 16384
CONSTANT = 2.0

SIZES = {
    "small": {"BATCH": 64, "IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 67, "IN_FEATURES": 1999, "OUT_FEATURES": 2005},
}
# "scaled" first: with the usual inputs z hardly ever reaches the constant.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "matmul"


class Model(nn.Module):
    def __init__(self, in_features, out_features, constant):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.constant = nn.Parameter(torch.tensor(constant))

    def forward(self, x):
        return torch.minimum(self.linear(x), self.constant) - self.constant


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, CONSTANT]
