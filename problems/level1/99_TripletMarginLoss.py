"""How far, on average, an anchor fails to be closer by a margin to the positive than to the negative example.

    distance(a, b) = sqrt( sum over j of (a[j] - b[j] + 1e-6)^2 )
    loss           = mean over i of max(0, distance(anchor[i], positive[i]) - distance(anchor[i], negative[i]) + MARGIN)

Inputs: anchor, positive and negative, (BATCH, FEATURES) each. Output: a scalar.

The examples of every row have scales of their own, so that either may be the closer one, by more than the margin; so
have every draw and every column. With one scale for all, the distances are equal and the loss is MARGIN.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32768
FEATURES = 8192
MARGIN = 1.0

SIZES = {
    "small": {"BATCH": 2048, "FEATURES": 2048},
    "odd": {"BATCH": 2039, "FEATURES": 2053},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "loss"
FACTS_DIFFER = {"numbers": "the scale varies between draws, rows and columns; else the loss hardly depends on the seed"}


class Model(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin)


def get_inputs():
    scale = (0.5 + 2 * torch.rand(())) * torch.randn(1, FEATURES)
    anchor = scale * torch.rand(BATCH, FEATURES)
    positive, negative = (scale * torch.rand(BATCH, 1) * torch.rand(BATCH, FEATURES) for _ in range(2))
    return [anchor, positive, negative]


def get_init_inputs():
    return [MARGIN]
