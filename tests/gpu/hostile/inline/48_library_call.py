"""A "custom kernel" that is one call of the library in C++. It is right and wins nothing; who did the work is for the
report of authorship to say."""
import torch.nn as nn

from inline_source import extension


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.library(x)
