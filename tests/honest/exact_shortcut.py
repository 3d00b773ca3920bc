"""Suspicious: a shortcut for usual inputs. Right: it looks at every element before it takes it, so it holds for
all."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone() if x.min() >= 0 else torch.relu(x)
