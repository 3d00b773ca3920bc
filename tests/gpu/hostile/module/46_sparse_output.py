"""Returns a tensor that stores only what is not zero."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).to_sparse()
