"""Linear layer, batch normalisation with the statistics of this batch, exact GELU, then ReLU.

    z = x W^T + b
    s[n, j] = (z[n, j] - mean over n) / sqrt(variance over n + eps) * weight[j] + shift[j]
    y = max(s * (1 + erf(s / sqrt(2))) / 2, 0)

weight and shift are `batch_norm.weight` and `batch_norm.bias`; eps is 1e-5; the variance is divided by BATCH. GELU has
the sign of its argument, so the negative half of s becomes 0.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

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
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.batch_norm = nn.BatchNorm1d(out_features)

    def forward(self, x):
        return torch.relu(F.gelu(self.batch_norm(self.gemm(x))))


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
