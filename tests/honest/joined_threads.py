"""Suspicious: background threads. Right: all of them are joined before forward returns."""
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        workers = [threading.Thread(target=torch.softmax, args=(a, 1), kwargs={"out": b})
                   for a, b in zip(x.chunk(2), y.chunk(2))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return y
