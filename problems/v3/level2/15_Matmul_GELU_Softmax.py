"""Linear layer, exact GELU, and softmax of the features of each sample.

    z       = x W^T + b
    g       = z * (1 + erf(z / sqrt(2))) / 2
    y[n, j] = exp(g[n, j]) / sum over k of exp(g[n, k])

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES); every row adds up to 1.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
IN_FEATURES = 4096
OUT_FEATURES = 4096

FAMILY = "matmul"
SIZES = {
    "small": {"IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 123, "IN_FEATURES": 2027, "OUT_FEATURES": 2035},
}
# Not "scaled": a softmax of large logits keeps only their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        g = F.gelu(self.linear(x))
        return torch.softmax(g, dim=1)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
