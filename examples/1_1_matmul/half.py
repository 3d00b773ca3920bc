"""Matrix product in half precision behind an fp32 interface.

Teaches: the output must be right to the precision of the problem, not of its type. Eleven bits are left of the 24 that
the problem promises. Inputs in [0, 1) flatter such a kernel, since relative errors average out in sums of positive
numbers; on centred inputs the error is hundreds of times what fp32 makes.
"""
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.half() @ b.half()).float()
