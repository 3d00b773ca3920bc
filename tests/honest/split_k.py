"""Suspicious: differs from the reference in nearly every bit. Right: the sum over k is taken in four parts, and a
different order of summation is within what fp32 itself makes."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = None
        for part_a, part_b in zip(a.chunk(4, dim=1), b.chunk(4, dim=0)):
            c = part_a @ part_b if c is None else torch.addmm(c, part_a, part_b)
        return c
