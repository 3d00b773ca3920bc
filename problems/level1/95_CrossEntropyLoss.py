"""Cross-entropy between rows of logits and the indices of the right classes, averaged over the rows.

    loss = mean over i of ( log(sum over j of exp(x[i, j])) - x[i, target[i]] )

Inputs: x, (BATCH, CLASSES), and target, (BATCH,) of int64 in [0, CLASSES). Output: a scalar.
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
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, predictions, targets):
        return F.cross_entropy(predictions, targets)


def get_inputs():
    predictions = torch.rand(BATCH, CLASSES)
    targets = torch.randint(0, CLASSES, (BATCH,))
    return [predictions, targets]


def get_init_inputs():
    return []
