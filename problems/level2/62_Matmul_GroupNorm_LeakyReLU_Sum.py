"""Linear layer, normalisation of groups of features, leaky ReLU, and the result doubled.

    z = x W^T + b
    g[n, j] = (z[n, j] - mean of the group of j) / sqrt(variance of the group of j + eps) * weight[j] + shift[j]
    r = g where g > 0, else 0.01 * g
    y = r + r

A group is HIDDEN / GROUPS neighbouring features of one row; weight and shift are `gn.weight` and `gn.bias`; eps
is 1e-5.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, HIDDEN).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
IN_FEATURES = 8192
HIDDEN = 8192
GROUPS = 512

SIZES = {
    "small": {"BATCH": 512, "IN_FEATURES": 1024, "HIDDEN": 1024, "GROUPS": 64},
    "odd": {"BATCH": 509, "IN_FEATURES": 1019, "HIDDEN": 1015, "GROUPS": 35},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "matmul"


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_groups):
        super().__init__()
        self.fc = nn.Linear(input_size, hidden_size)
        self.gn = nn.GroupNorm(num_groups, hidden_size)

    def forward(self, x):
        r = F.leaky_relu(self.gn(self.fc(x)))
        return r + r


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, HIDDEN, GROUPS]
