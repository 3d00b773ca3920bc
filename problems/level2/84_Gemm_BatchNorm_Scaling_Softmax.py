"""Linear layer, batch normalisation, a learned scale, then softmax of every row.

    z       = x W^T + b
    g[i, j] = (z[i, j] - mean of column j) / sqrt(variance of column j + EPSILON) * weight[j] + shift[j]
    y[i, j] = exp(scale * g[i, j]) / sum over k of exp(scale * g[i, k])

Mean and variance (divided by the count) are those of the batch; `bn.weight` and `bn.bias` are weight and shift;
scale is a single number, 1 at the start. MOMENTUM only concerns the running statistics, which do not enter y.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES); every row sums to 1.
"""
import torch
import torch.nn as nn

FAMILY = "matmul"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
EPSILON = 1e-5
MOMENTUM = 0.1

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1021},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, bn_eps, bn_momentum, scale_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.bn = nn.BatchNorm1d(out_features, eps=bn_eps, momentum=bn_momentum)
        self.scale = nn.Parameter(torch.ones(scale_shape))

    def forward(self, x):
        return torch.softmax(self.scale * self.bn(self.gemm(x)), dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, EPSILON, MOMENTUM, (1,)]
