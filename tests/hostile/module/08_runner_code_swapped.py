"""Swaps the code of the function that calls it for one that does nothing, after a first honest answer, and pretends to
be the main program. The runner is not believed: outputs that it did not write still hold poison."""
import sys

import torch
import torch.nn as nn


def idle(self, seed):
    return None


class ModelNew(nn.Module):
    def forward(self, x):
        runner = sys.modules.get("kernelbench_torch.module_runner")
        if runner is not None:
            runner.Runner.forward.__code__ = idle.__code__
        sys.modules["__main__"] = sys.modules[__name__]
        return torch.relu(x)
