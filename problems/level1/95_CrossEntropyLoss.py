"""Cross-entropy between rows of logits and the indices of the right classes, averaged over the rows.

    loss = mean over i of ( log(sum over j of exp(x[i, j])) - x[i, target[i]] )

Inputs: x, (BATCH, CLASSES), and target, (BATCH,) of int64 in [0, CLASSES). Output: a scalar.

Every draw and every row has a scale of its own: logits in [0, 1) give log(CLASSES) and a little, whatever the seed.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32768
CLASSES = 4096

SIZES = {
    "small": {"BATCH": 1024},
    "odd": {"BATCH": 1021, "CLASSES": 4099},
}
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")
FAMILY = "loss"
FACTS_DIFFER = {"numbers": "the logits' scale varies between draws and rows; else the loss hardly depends on the seed"}


class Model(nn.Module):
    def forward(self, predictions, targets):
        return F.cross_entropy(predictions, targets)


def get_inputs():
    scale = (5 + 20 * torch.rand(())) * torch.randn(BATCH, 1)
    predictions = scale * torch.rand(BATCH, CLASSES)
    targets = torch.randint(0, CLASSES, (BATCH,))
    return [predictions, targets]


def get_init_inputs():
    return []
