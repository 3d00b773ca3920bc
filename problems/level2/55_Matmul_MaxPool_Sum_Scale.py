"""Linear layer, max pooling of neighbouring features, the sum of each row, and a constant factor.

    z = x W^T + b
    y[n] = SCALE * sum over i of ( largest of z[n, i * POOL], ..., z[n, i * POOL + POOL - 1] )

Features that do not fill a window are left out.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH,). z is (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 32768
OUT_FEATURES = 32768
POOL = 2
SCALE = 0.5

SIZES = {
    "small": {"BATCH": 64, "IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 67, "IN_FEATURES": 1999, "OUT_FEATURES": 2005},
}
# Not "scaled": the sums would exceed the largest number of fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "matmul"


class Model(nn.Module):
    def __init__(self, in_features, out_features, kernel_size, scale_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.pool = nn.MaxPool1d(kernel_size)
        self.scale_factor = scale_factor

    def forward(self, x):
        rows = self.matmul(x).unsqueeze(1)
        peaks = self.pool(rows).squeeze(1)
        return peaks.sum(dim=1) * self.scale_factor


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, POOL, SCALE]
