"""Suspicious: sets global flags and the number of threads. Right: the flags ask for full precision and hold in its own
process only."""
import os

import torch
import torch.nn as nn

os.environ.setdefault("OMP_PROC_BIND", "true")
torch.set_float32_matmul_precision("highest")
torch.use_deterministic_algorithms(True)
torch.set_num_threads(max(1, torch.get_num_threads()))
torch.manual_seed(0)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
