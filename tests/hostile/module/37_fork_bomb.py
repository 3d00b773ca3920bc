"""Forks without end. After loading no further processes are possible, so the first fork raises."""
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            os.fork()
