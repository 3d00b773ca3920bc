"""Linear layer, the largest value of each feature over the batch, less the mean of those, then exact GELU.

    z       = x W^T + b
    m[j]    = max over i of z[i, j]
    d[j]    = m[j] - mean over k of m[k]
    y[0, j] = d[j] * (1 + erf(d[j] / sqrt(2))) / 2

Input: x, (BATCH, IN_FEATURES). Output: y, (1, OUT_FEATURES).

MAX_DIM is the dimension of z that the maximum runs over; the mean always runs over dimension 1. With MAX_DIM = 1 a
single number is left for each row, its own mean is subtracted from it, and the answer is 0 whatever the input.
Here MAX_DIM is 0.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "matmul"

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192
MAX_DIM = 0

SIZES = {
    "small": {"IN_FEATURES": 256, "OUT_FEATURES": 1024},
    "odd": {"BATCH": 1019, "IN_FEATURES": 251, "OUT_FEATURES": 1021},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FACTS_DIFFER = {
    "init": "the maximum runs over dimension 0, not 1; else the output is 0 for any input",
    "outputs": "one number for each feature instead of one for each row, because of the dimension of the maximum",
    "numbers": "because of the dimension of the maximum",
}


class Model(nn.Module):
    def __init__(self, in_features, out_features, max_dim):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.max_dim = max_dim

    def forward(self, x):
        largest = self.gemm(x).amax(dim=self.max_dim, keepdim=True)
        return F.gelu(largest - largest.mean(dim=1, keepdim=True))


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, MAX_DIM]
