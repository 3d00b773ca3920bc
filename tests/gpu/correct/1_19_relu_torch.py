"""1/19 ReLU by PyTorch itself: correct, and no faster."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
