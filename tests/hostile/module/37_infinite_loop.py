"""Never comes back, so that a judge without a limit waits for ever. A call has a time limit, and its end is a
verdict."""
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            pass
