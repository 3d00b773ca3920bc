"""Running sum along every row over the elements that a mask selects.

    y[i, j] = sum over k <= j with mask[i, k] of x[i, k]

Inputs: x, (ROWS, COLUMNS), and mask, the same shape, bool in every precision. Output: y, the same shape.
"""
import torch
import torch.nn as nn

ROWS = 32768
COLUMNS = 32768
DIM = 1

SIZES = {
    "small": {"ROWS": 512, "COLUMNS": 4096},
    "odd": {"ROWS": 509, "COLUMNS": 4099},
}
# As drawn, a sum is about a quarter of the index; with mean 0 it says nothing of the next one.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "scan"
ERRORS_WANDER = "a rounding is carried on along the row, so whole blocks err alike, in another place each time"


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        return torch.cumsum(x * mask, dim=self.dim)


def get_inputs():
    x = torch.rand(ROWS, COLUMNS)
    mask = torch.randint(0, 2, (ROWS, COLUMNS)).bool()
    return [x, mask]


def get_init_inputs():
    return [DIM]
