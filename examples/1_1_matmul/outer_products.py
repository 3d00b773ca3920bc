"""Matrix product as a sum of outer products, one call of the library for each.

Teaches: being right is not being fast. The arithmetic is exactly that of a matrix product, but C is read and written once
for each k, and so is the price of a call.
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
        for k in range(a.shape[1]):
            c.addr_(a[:, k], b[k])
        return c
