"""Linear layer summed over its features, then a maximum, a mean and two log-sum-exps of that one number.

    s[n] = sum over o of (x W^T + b)[n, o]
    y[n] = logsumexp(logsumexp(mean(max(s[n]))))

The last four run over an axis of length 1 and change nothing: y[n] = s[n].

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, 1).
"""
import torch
import torch.nn as nn

BATCH = 1024
IN_FEATURES = 8192
OUT_FEATURES = 8192

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    "odd": {"BATCH": 1021, "IN_FEATURES": 523, "OUT_FEATURES": 509},
}
# "scaled": exp() of these sums overflows in a logsumexp that does not subtract the maximum.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
COLLAPSES = "the sum over features can be taken first, which leaves a product with one vector; the rest is the identity"


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        total = self.linear(x).sum(dim=1, keepdim=True)
        largest = total.max(dim=1, keepdim=True).values
        average = largest.mean(dim=1, keepdim=True)
        return average.logsumexp(dim=1, keepdim=True).logsumexp(dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
