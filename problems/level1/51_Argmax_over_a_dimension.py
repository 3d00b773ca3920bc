"""Where along the middle dimension of a tensor the maximum stands.

    y[n, j] = the smallest i for which x[n, i, j] = max over k of x[n, k, j]

Input: x, (BATCH, ROWS, COLUMNS). Output: y, (BATCH, COLUMNS) of int64. Of equal maxima the first counts; the numbers
drawn are multiples of 2^-24, so that equal ones do occur, and in fp16 and bf16 they are common.
"""
import torch
import torch.nn as nn

BATCH = 128
ROWS = 4096
COLUMNS = 4095
DIM = 1

FAMILY = "reduction"
SIZES = {
    "small": {"BATCH": 16, "ROWS": 256, "COLUMNS": 1024},
    "odd": {"BATCH": 13, "ROWS": 251, "COLUMNS": 1030},
}
# As drawn, nothing is negative: a search that starts from 0 passes. It fails "structured", which leaves every other
# column without a positive number where COLUMNS is even.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.argmax(dim=self.dim)


def get_inputs():
    return [torch.rand(BATCH, ROWS, COLUMNS)]


def get_init_inputs():
    return [DIM]
