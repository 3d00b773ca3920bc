"""Writes a list of extensions of its own, nested deeply and with wrong types, while it is imported for building, where
the runner says what load_inline has to compile. The builder takes it for what it is: bytes from a stranger."""
import os

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

if load_inline.__name__ == "recording":
    deep = b"[" * 200_000 + b"]" * 200_000
    wrong = b'[7, null, {"key": 3}, {"key": "../../x", "name": ["a"], "cpp": {"a": 1}, "cflags": 9}, ' + deep + b"]"
    for fd in range(3, 64):
        try:
            os.pwrite(fd, b'{"extensions": ' + wrong + b', "error": ""}', 0)
        except OSError:
            pass
    os._exit(0)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
