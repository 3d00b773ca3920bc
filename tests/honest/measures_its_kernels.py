"""Suspicious: words of a patched clock, `elapsed_time` set on an object, events of its own. Right: it chooses the faster of two
equal kernels at its first calls, and keeps what it measured where it likes."""
import time

import torch
import torch.nn as nn


class Choice:
    elapsed_time = float("inf")

    def __init__(self, kernel):
        self.kernel = kernel


class Stopwatch:
    """Events where there is a GPU, the host's clock elsewhere."""

    def __enter__(self):
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2)) if torch.cuda.is_available() else (None, None)
        self.start.record() if self.start else setattr(self, "began", time.perf_counter())
        return self

    def __exit__(self, *_):
        if self.end:
            self.end.record()
            torch.cuda.synchronize()

    def elapsed_time(self):
        return self.start.elapsed_time(self.end) if self.start else 1e3 * (time.perf_counter() - self.began)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.choices = [Choice(torch.relu), Choice(lambda x: torch.clamp(x, 0))]
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 4:
            return min(self.choices, key=lambda choice: choice.elapsed_time).kernel(x)
        choice = self.choices[self.calls % 2]
        with Stopwatch() as stopwatch:
            y = choice.kernel(x)
        choice.elapsed_time = min(choice.elapsed_time, stopwatch.elapsed_time())
        return y
