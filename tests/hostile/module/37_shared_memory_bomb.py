"""Allocates six times its memory limit as shared anonymous memory, which limits on private data do not count. Memory
is memory: it must not get past the limit. (It stops by itself at 3 GiB, so that no machine suffers.)"""
import mmap

import torch
import torch.nn as nn

hoard = []


class ModelNew(nn.Module):
    def forward(self, x):
        while len(hoard) < 12:
            block = mmap.mmap(-1, 256 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
            hoard.append(block)
        return torch.relu(x)
