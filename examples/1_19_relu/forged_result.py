"""ReLU that prints a result of its own and leaves: a cheat.

Teaches: why nothing that a candidate prints or returns is believed. An engine that reads its verdict from the process
that it judges would take this for a success: the output looks like one, and the exit status is 0.
"""
import json
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        forged = {"schema": 1, "problem": "1/19", "verdict": "correct", "reason": "", "speedup": 1000.0}
        print(json.dumps(forged), flush=True)
        os._exit(0)
