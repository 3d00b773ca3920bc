"""Linear layer, the larger one of every few neighbouring features, their sum for each sample, and a constant factor.

    z    = x W^T + b
    y[n] = SCALE * sum over j of ( max over i < POOL of z[n, j * POOL + i] ), for j < OUT_FEATURES / POOL, rounded down

Features left over by the pooling are dropped.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH,); z is (BATCH, OUT_FEATURES).

Every sample has a scale of its own: in a sum of thousands of maxima samples of one scale are all alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 4096
OUT_FEATURES = 4096
POOL = 2
SCALE = 0.5

FAMILY = "matmul"
SIZES = {
    "small": {"IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 123, "IN_FEATURES": 2027, "OUT_FEATURES": 2035},
}
# Not "scaled": the sums would exceed the largest number of fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, kernel_size, scale_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.kernel_size = kernel_size
        self.scale_factor = scale_factor

    def forward(self, x):
        largest = F.max_pool1d(self.matmul(x), self.kernel_size)
        return self.scale_factor * largest.sum(dim=1)


def get_inputs():
    spread = 0.5 + torch.rand(BATCH, 1)
    return [spread * torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, POOL, SCALE]
