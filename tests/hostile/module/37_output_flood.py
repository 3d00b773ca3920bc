"""Prints a hundred megabytes at every call, so that a log overflows or a judge that does not read blocks. Output is
read all the time and only its ends are kept; the candidate pays for the printing."""
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(100):
            sys.stdout.write("flood " * 180_000)
        sys.stdout.flush()
        return torch.relu(x)
