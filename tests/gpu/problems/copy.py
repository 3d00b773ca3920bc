"""A copy of the input: y = x.

Input and output: (ROWS, COLUMNS).
"""
import torch
import torch.nn as nn

ROWS, COLUMNS = 16384, 8192
SIZES = {"small": {"ROWS": 1024}}
DISTRIBUTIONS = ("centred", "scaled")


class Model(nn.Module):
    def forward(self, x):
        return x.clone()


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
