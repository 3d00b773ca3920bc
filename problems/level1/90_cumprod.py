"""Running product along every row.

    y[i, j] = product over k <= j of x[i, k]

Input: x, (ROWS, COLUMNS), factors between exp(-SPREAD / 2) and exp(SPREAD / 2), whose logarithms have mean 0.
Output: y, the same shape.

The product of numbers drawn from [0, 1) is 0 in fp32 after about a hundred of them. These factors stay so close to 1
that the product of a whole row neither vanishes nor overflows, in fp16 neither, and yet wanders far from 1.
"""
import torch
import torch.nn as nn

ROWS = 32768
COLUMNS = 32768
DIM = 1
SPREAD = 0.03

SIZES = {
    "small": {"ROWS": 512, "COLUMNS": 4096},
    "odd": {"ROWS": 509, "COLUMNS": 4099},
}
# Not the others: their factors are far from 1, so that products vanish or overflow. This one makes factors negative.
DISTRIBUTIONS = ("structured",)
FAMILY = "scan"
FACTS_DIFFER = {"numbers": "factors are drawn around 1; as published the product underflows to 0"}


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.cumprod(x, dim=self.dim)


def get_inputs():
    return [torch.exp(SPREAD * (torch.rand(ROWS, COLUMNS) - 0.5))]


def get_init_inputs():
    return [DIM]
