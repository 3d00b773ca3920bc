"""Linear layer, averages of neighbouring features, exact GELU, a constant factor, and the largest value of each row.

    z       = x W^T + b
    a[n, j] = mean over i < POOL of z[n, j * POOL + i], for j < OUT_FEATURES / POOL, rounded down
    y[n]    = max over j of SCALE * a[n, j] * (1 + erf(a[n, j] / sqrt(2))) / 2

Features left over by the pooling are dropped.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH,).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "matmul"
COLLAPSES = "averaging rows of the weight before the product leaves one multiplication of every POOL"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
POOL = 16
SCALE = 2.0

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1021},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, pool_kernel_size, scale_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.pool_kernel_size = pool_kernel_size
        self.scale_factor = scale_factor

    def forward(self, x):
        averages = F.avg_pool1d(self.matmul(x), self.pool_kernel_size)
        return (F.gelu(averages) * self.scale_factor).amax(dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, POOL, SCALE]
