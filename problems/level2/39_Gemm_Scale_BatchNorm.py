"""Linear layer, a gain for each feature, and batch normalisation with the statistics of this batch.

    z = (x W^T + b) * scale
    y[n, j] = (z[n, j] - mean over n) / sqrt(variance over n + eps) * weight[j] + shift[j]

weight and shift are `bn.weight` and `bn.bias`; eps is 1e-5; the variance is divided by BATCH, not BATCH - 1.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 16384
IN_FEATURES = 4096
OUT_FEATURES = 4096

SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    "odd": {"BATCH": 1021, "IN_FEATURES": 509, "OUT_FEATURES": 517},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "matmul"


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
