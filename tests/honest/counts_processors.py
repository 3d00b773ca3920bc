"""Suspicious: reads /proc and /sys, and asks how many processors there are in every way. Right: it sizes its chunks by the
answer, and would rather fail than guess."""
import multiprocessing
import os
import re

import torch
import torch.nn as nn

PROCESSORS = sorted(os.sched_getaffinity(0))


def count():
    with open("/proc/cpuinfo") as file:
        described = [int(n) for n in re.findall(r"^processor\s*:\s*(\d+)", file.read(), re.MULTILINE)]
    with open("/sys/devices/system/cpu/online") as file:
        online = file.read().strip()
    counts = {"cpuinfo": len(described), "os": os.cpu_count(), "multiprocessing": multiprocessing.cpu_count(),
              "sysconf": os.sysconf("SC_NPROCESSORS_ONLN"), "affinity": len(PROCESSORS)}
    if not online or min(counts.values()) < torch.get_num_threads():
        raise RuntimeError(f"{counts} processors, {online} online, for {torch.get_num_threads()} threads")
    return counts["affinity"]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = count()

    def forward(self, x):
        y = torch.empty_like(x)
        for a, b in zip(x.chunk(self.parts), y.chunk(self.parts)):
            torch.clamp(a, 0, out=b)
        return y
