"""Linear layer, batch normalisation, one bias for all, division by a constant, then swish.

    z       = x W^T + b
    g[i, j] = (z[i, j] - mean of column j) / sqrt(variance of column j + EPSILON) * weight[j] + shift[j]
    d       = (g + bias) / DIVISOR
    y       = d / (1 + exp(-d))

Mean and variance (divided by the count) are those of the batch; `bn.weight` and `bn.bias` are weight and shift;
bias is a single number. MOMENTUM only concerns the running statistics, which do not enter y.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "matmul"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
EPSILON = 1e-5
MOMENTUM = 0.1
DIVISOR = 1.0

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1021},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, bn_eps, bn_momentum, bias_shape, divide_value):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.bn = nn.BatchNorm1d(out_features, eps=bn_eps, momentum=bn_momentum)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.divide_value = divide_value

    def forward(self, x):
        normalised = self.bn(self.matmul(x))
        return F.silu((normalised + self.bias) / self.divide_value)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, EPSILON, MOMENTUM, (1,), DIVISOR]
