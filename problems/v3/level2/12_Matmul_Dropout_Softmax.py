"""Linear layer, dropout, and softmax of the features of each sample.

    z       = x W^T + b
    d[n, j] = 0 with probability DROPOUT, else z[n, j] / (1 - DROPOUT)
    y[n, j] = exp(d[n, j]) / sum over k of exp(d[n, k])

Dropout is active: its mask comes from torch's generator, and an answer with another mask is wrong.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES); every row adds up to 1.
"""
import torch
import torch.nn as nn

BATCH = 128
IN_FEATURES = 4096
OUT_FEATURES = 4096
DROPOUT = 0.2

FAMILY = "matmul"
NEEDS_TORCH_RNG = True
SIZES = {
    "small": {"IN_FEATURES": 2048, "OUT_FEATURES": 2048},
    "odd": {"BATCH": 123, "IN_FEATURES": 2027, "OUT_FEATURES": 2035},
}
# Not "scaled": a softmax of large logits keeps only their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_features, out_features, dropout_p):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x):
        d = self.dropout(self.matmul(x))
        return torch.softmax(d, dim=1)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, DROPOUT]
