"""Cross-entropy of logits for the right classes, averaged over all rows.

    loss = mean over i of ( log(sum over j of exp(x[i, j])) - x[i, target[i]] )

Inputs: x, (BATCH, CLASSES), and target, (BATCH,) of int64 in [0, CLASSES). Output: a scalar.

How far the logits spread differs between draws and rows, and by how much the right class stands out differs between
draws: plain randn gives log(CLASSES) + 1/2 for every draw, whatever the targets. In a few rows exp overflows unless the
row's maximum is subtracted first.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4096
CLASSES = 1024

FAMILY = "loss"
SIZES = {
    "small": {"BATCH": 2048},
    "odd": {"BATCH": 2029, "CLASSES": 1021},
}
# Not "scaled": the sum of the losses overflows in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def forward(self, predictions, targets):
        return F.cross_entropy(predictions, targets)


def get_inputs():
    targets = torch.randint(0, CLASSES, (BATCH,))
    spread = (0.5 + torch.rand(())) * torch.exp(1.2 * torch.randn(BATCH, 1))
    margin = 4 * torch.rand(())
    predictions = spread * torch.randn(BATCH, CLASSES) + margin * F.one_hot(targets, CLASSES)
    return [predictions, targets]


def get_init_inputs():
    return []
