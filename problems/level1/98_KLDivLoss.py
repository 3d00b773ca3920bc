"""Kullback-Leibler divergence of predicted from true distributions, averaged over the rows.

    loss = 1 / BATCH * sum over i, j of targets[i, j] * (log(targets[i, j]) - log(predictions[i, j]))

Inputs: predictions and targets, (BATCH, CLASSES) each: positive, every row adds up to 1. Output: a scalar.

How uneven a row is varies between rows and between draws: rows that are all alike give one number for every draw.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16384
CLASSES = 16384

SIZES = {
    "small": {"BATCH": 512, "CLASSES": 2048},
    "odd": {"BATCH": 509, "CLASSES": 2039},
}
# The inputs are probabilities; every other distribution has negative ones, which have no logarithm.
DISTRIBUTIONS = ()
FAMILY = "loss"
FACTS_DIFFER = {"numbers": "the spread of logits varies between draws and rows; else the loss is much the same"}


class Model(nn.Module):
    def forward(self, predictions, targets):
        return F.kl_div(torch.log(predictions), targets, reduction="batchmean")


def get_inputs():
    # At most 7.5, so that no probability is 0 in fp16.
    spread = (1 + 4 * torch.rand(())) * (0.5 + torch.rand(BATCH, 1))
    predictions = torch.softmax(spread * torch.rand(BATCH, CLASSES), dim=-1)
    targets = torch.softmax(spread * torch.rand(BATCH, CLASSES), dim=-1)
    return [predictions, targets]


def get_init_inputs():
    return []
