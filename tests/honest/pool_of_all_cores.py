"""Suspicious: a pool as large as os.sched_getaffinity() says, kept between calls. Right: every future is waited for, and each
thread may use every core, as the main one may."""
import os
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.cores = len(os.sched_getaffinity(0))
        if self.cores < torch.get_num_threads():
            raise RuntimeError(f"{self.cores} cores for {torch.get_num_threads()} threads")
        self.pool = ThreadPoolExecutor(self.cores)

    def part(self, x, y):
        torch.softmax(x, 1, out=y)
        return len(os.sched_getaffinity(0))

    def forward(self, x):
        y = torch.empty_like(x)
        parts = [self.pool.submit(self.part, a, b) for a, b in zip(x.chunk(self.cores), y.chunk(self.cores))]
        if min(part.result() for part in parts) < self.cores:
            raise RuntimeError("a new thread may use fewer cores than the one that started it")
        return y
