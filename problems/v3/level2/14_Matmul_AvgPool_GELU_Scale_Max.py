"""Linear layer, means of neighbouring features, exact GELU, a constant factor, and the largest result of each sample.

    z       = x W^T + b
    a[n, j] = mean over i < POOL of z[n, j * POOL + i], for j < OUT_FEATURES / POOL, rounded down
    y[n]    = max over j of SCALE * a[n, j] * (1 + erf(a[n, j] / sqrt(2))) / 2

Features left over by the pooling are dropped.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH,); z is (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 4096
OUT_FEATURES = 4096
POOL = 4
SCALE = 2.0

FAMILY = "matmul"
COLLAPSES = "the mean over neighbouring features can be taken of W's rows beforehand: one product of every POOL is left"
SIZES = {
    "small": {"IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 123, "IN_FEATURES": 2027, "OUT_FEATURES": 2035},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, pool_kernel_size, scale_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.pool_kernel_size = pool_kernel_size
        self.scale_factor = scale_factor

    def forward(self, x):
        a = F.avg_pool1d(self.matmul(x), self.pool_kernel_size)
        return (self.scale_factor * F.gelu(a)).amax(dim=1)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, POOL, SCALE]
