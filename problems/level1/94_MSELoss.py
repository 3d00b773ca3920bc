"""Mean of the squared differences between predictions and targets.

    loss = mean over i, j of (predictions[i, j] - targets[i, j])^2

Inputs: predictions and targets, (BATCH, FEATURES) each. Output: a scalar.

Every draw, every row and every column has a scale of its own: with one scale for all, one number answers every draw,
and so does the mean over a few of the elements.
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
# Not "scaled": the squares overflow in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "loss"
FACTS_DIFFER = {"numbers": "the scale varies between draws, rows and columns; else the loss hardly depends on the seed"}


class Model(nn.Module):
    def forward(self, predictions, targets):
        return F.mse_loss(predictions, targets)


def get_inputs():
    scale = (0.5 + torch.rand(())) * torch.randn(BATCH, 1) * torch.randn(1, FEATURES)
    predictions = scale * torch.rand(BATCH, FEATURES)
    targets = scale * torch.rand(BATCH, FEATURES)
    return [predictions, targets]


def get_init_inputs():
    return []
