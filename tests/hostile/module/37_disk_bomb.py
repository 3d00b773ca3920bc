"""Writes 400 MiB into every directory it finds. /tmp and /dev/shm are small memory of its own, nothing else is
writable, and what does not fit raises."""
import os

import torch
import torch.nn as nn

BLOCKS = 25


class ModelNew(nn.Module):
    def forward(self, x):
        block = bytes(16 << 20)
        for directory in ("/dev/shm", "/var/tmp", "/tmp"):
            names = [os.path.join(directory, f"fill{number}") for number in range(BLOCKS)]
            try:
                for name in names:
                    with open(name, "wb") as file:
                        file.write(block)
            finally:
                for name in filter(os.path.exists, names):
                    os.remove(name)
        return torch.relu(x)
