"""Mean of a loss of the differences that is quadratic for small ones and linear for large ones.

    d    = predictions - targets
    loss = mean over i, j of ( d[i, j]^2 / 2 where |d[i, j]| < 1, else |d[i, j]| - 1/2 )

Inputs: predictions and targets, (BATCH, FEATURES) each. Output: a scalar.

Every draw, every row and every column has a scale of its own, so that both branches occur: with numbers in [0, 1) no
difference reaches 1, and one number answers every draw.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32768
FEATURES = 32768

SIZES = {
    "small": {"BATCH": 4096, "FEATURES": 1024},
    "odd": {"BATCH": 4093, "FEATURES": 1021},
}
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")
FAMILY = "loss"
FACTS_DIFFER = {"numbers": "the scale varies between draws, rows and columns; else the loss hardly depends on the seed"}


class Model(nn.Module):
    def forward(self, predictions, targets):
        return F.smooth_l1_loss(predictions, targets)


def get_inputs():
    scale = (1 + 4 * torch.rand(())) * torch.randn(BATCH, 1) * torch.randn(1, FEATURES)
    predictions = scale * torch.rand(BATCH, FEATURES)
    targets = scale * torch.rand(BATCH, FEATURES)
    return [predictions, targets]


def get_init_inputs():
    return []
