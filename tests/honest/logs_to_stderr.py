"""Suspicious: prints at every call, even the words of a result. Right: a log is no claim, and the answer is right."""
import logging
import sys

import torch
import torch.nn as nn

logging.basicConfig(stream=sys.stderr, level=logging.INFO)


class ModelNew(nn.Module):
    def forward(self, x):
        logging.info("forward of %s; the last self-test was correct, speedup 1.0", tuple(x.shape))
        return torch.relu(x)
