"""Suspicious: work submitted to a pool named `stream`. Right: every future is waited for, which is how streams are
joined."""
from concurrent.futures import ThreadPoolExecutor, wait

import torch
import torch.nn as nn

stream = ThreadPoolExecutor(2, thread_name_prefix="stream")


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        done, pending = wait([stream.submit(torch.clamp, a, 0, out=b) for a, b in zip(x.chunk(4), y.chunk(4))])
        assert not pending
        return y
