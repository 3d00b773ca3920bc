"""Allocates without end. Private memory is limited, and what does not fit raises inside the candidate."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        hoard = []
        while True:
            hoard.append(torch.ones(64 << 20))
