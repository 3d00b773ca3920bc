"""Leaves a thousand sleeping threads behind, each of which has to be stopped and watched at every call. That costs the
engine a little and wins nothing."""
import threading

import torch
import torch.nn as nn

stop = threading.Event()
threading.stack_size(64 << 10)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        for _ in range(1000):
            threading.Thread(target=stop.wait, daemon=True).start()

    def forward(self, x):
        return torch.relu(x)
