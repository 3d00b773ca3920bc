"""Linear layer, normalisation of each sample, plus a second input and times it.

    z    = x W^T + b
    s[n] = (z[n] - mean of z[n]) / sqrt(variance of z[n] + eps)
    out  = (s + y) * y

Mean and variance are over the features of one sample; the variance divides by their number; eps is 1e-5. There is no
learned gain.

Inputs: x, (BATCH, IN_FEATURES), and y, (BATCH, OUT_FEATURES). Output: (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    "odd": {"BATCH": 1005, "IN_FEATURES": 511, "OUT_FEATURES": 527},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.bmm = nn.Linear(in_features, out_features)

    def forward(self, x, y):
        one_channel = self.bmm(x)[:, None, None, :]
        normalised = F.instance_norm(one_channel)[:, 0, 0, :]
        return (normalised + y) * y


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES), torch.rand(BATCH, OUT_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
