"""Linear layer, dropout, then softmax of every row.

    z = x W^T + b
    d[n, j] = 0 with probability DROPOUT, else z[n, j] / (1 - DROPOUT)
    y[n, j] = exp(d[n, j]) / sum over k of exp(d[n, k])

Dropout is active and draws its mask from torch's generator: an answer is right only with the same mask.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES); every row sums to 1.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_FEATURES = 16384
OUT_FEATURES = 16384
DROPOUT = 0.2

SIZES = {
    "small": {"BATCH": 64, "IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 67, "IN_FEATURES": 1999, "OUT_FEATURES": 2005},
}
# Not "scaled": a softmax of large logits keeps only their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "matmul"
NEEDS_TORCH_RNG = True


class Model(nn.Module):
    def __init__(self, in_features, out_features, dropout_p):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x):
        return torch.softmax(self.dropout(self.matmul(x)), dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, DROPOUT]
