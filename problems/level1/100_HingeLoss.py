"""Mean of what predictions lack to lie on the right side of 0 by at least 1.

    loss = mean over i, j of max(0, 1 - predictions[i, j] * targets[j])

Inputs: predictions, (BATCH, FEATURES), and targets, (FEATURES,), each -1 or 1 and the same for all rows.
Output: a scalar.

Every draw, every row and every column has a scale of its own, so that the maximum is sometimes 0: with predictions in
[0, 1) it never is, and one number answers every draw.
"""
import torch
import torch.nn as nn

BATCH = 32768
FEATURES = 32768

SIZES = {
    "small": {"BATCH": 4096, "FEATURES": 2048},
    "odd": {"BATCH": 4093, "FEATURES": 2039},
}
# Not "scaled": it enlarges both factors, whose product overflows in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "loss"
FACTS_DIFFER = {"numbers": "the scale varies between draws, rows and columns; else the loss hardly depends on the seed"}


class Model(nn.Module):
    def forward(self, predictions, targets):
        return torch.clamp(1 - predictions * targets, min=0).mean()


def get_inputs():
    scale = (1 + 15 * torch.rand(())) * torch.randn(BATCH, 1) * torch.randn(1, FEATURES)
    predictions = scale * torch.rand(BATCH, FEATURES)
    targets = 2.0 * torch.randint(0, 2, (FEATURES,)) - 1.0
    return [predictions, targets]


def get_init_inputs():
    return []
