"""Linear layer less a learned vector, averaged over each row, GELU, and added to the whole row of the input.

    z = x W^T + b - subtract
    m[n] = mean over j of z[n, j]
    y[n, i] = x[n, i] + m[n] * (1 + erf(m[n] / sqrt(2))) / 2

Between the mean and GELU stands a log-sum-exp over the one element that is left, which changes nothing.

Input: x, (BATCH, IN_FEATURES). Output: y, the same shape. z is (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2048
IN_FEATURES = 8192
OUT_FEATURES = 8192

SIZES = {
    "small": {"BATCH": 512, "IN_FEATURES": 1024, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 509, "IN_FEATURES": 1019, "OUT_FEATURES": 1013},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "matmul"
COLLAPSES = "the mean over the outputs of a linear layer is one product with the mean of its rows"


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.subtract = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        residual = x.clone().detach()
        mean = (self.gemm(x) - self.subtract).mean(dim=1, keepdim=True)
        return F.gelu(torch.logsumexp(mean, dim=1, keepdim=True)) + residual


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
