"""One element among four million is not computed and keeps what it has got. Every element is compared."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        y[311, 4711] = 0.5
        return y
