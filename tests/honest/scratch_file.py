"""Suspicious: writes files and maps memory. Right: a table in a scratch file of its own, as a tuner would keep one."""
import mmap
import os
import struct
import tempfile

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.file = tempfile.TemporaryFile(dir="/tmp")
        self.file.write(struct.pack("d", eps).ljust(4096, b"\0"))
        self.file.flush()
        self.table = mmap.mmap(self.file.fileno(), 4096)
        self.path = os.path.join(tempfile.gettempdir(), "tuning.txt")

    def forward(self, x):
        with open(self.path, "a", encoding="ascii") as log:
            log.write(f"{tuple(x.shape)}\n")
        eps, = struct.unpack_from("d", self.table)
        return x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + eps)
