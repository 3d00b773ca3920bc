"""Group normalisation: neighbouring channels of each image by their common mean and variance.

    y[n, c, h, w] = (x[n, c, h, w] - mean[n, g]) / sqrt(variance[n, g] + eps) * weight[c] + bias[c]

Input: x, (BATCH, FEATURES, HEIGHT, WIDTH). Output: y, the same shape.

g is the group of c: FEATURES / GROUPS neighbouring channels. mean[n, g] and variance[n, g] are taken over its channels,
h and w, with the count as divisor, and eps is 1e-5. `gn.weight` is 1 and `gn.bias` 0 at the start.
"""
import torch
import torch.nn as nn

BATCH = 112
FEATURES = 64
GROUPS = 8
HEIGHT = 512
WIDTH = 512

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 7, "FEATURES": 65, "GROUPS": 5, "HEIGHT": 99, "WIDTH": 101},
}
# As drawn, every group has mean 1/2 and variance 1/12: "sparse" and "structured" have others.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, num_features, num_groups):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_features)

    def forward(self, x):
        return self.gn(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [FEATURES, GROUPS]
