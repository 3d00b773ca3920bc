"""Linear layer, a scale for each feature, and batch normalisation.

    z[n, o] = (x W^T + b)[n, o] * scale[o]
    y[n, o] = (z[n, o] - mean of feature o) / sqrt(variance of feature o + eps) * weight[o] + shift[o]

Mean and variance of a feature are those of this batch: the module is in training mode. The variance divides by BATCH;
eps is 1e-5; weight and shift are `bn.weight` and `bn.bias`. The bias b cancels; of a scale its sign remains and, where
it is small, its size against eps.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    "odd": {"BATCH": 997, "IN_FEATURES": 521, "OUT_FEATURES": 517},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, scale_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.randn(scale_shape))
        self.bn = nn.BatchNorm1d(out_features)

    def forward(self, x):
        return self.bn(self.gemm(x) * self.scale)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, (OUT_FEATURES,)]
