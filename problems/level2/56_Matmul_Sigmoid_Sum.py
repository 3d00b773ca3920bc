"""Linear layer, sigmoid, and the sum of each row.

    z = x W^T + b
    y[n, 0] = sum over j of 1 / (1 + exp(-z[n, j]))

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, 1). z is (BATCH, HIDDEN).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_FEATURES = 32768
HIDDEN = 32768

SIZES = {
    "small": {"BATCH": 64, "IN_FEATURES": 2048, "HIDDEN": 2048},
    "odd": {"BATCH": 67, "IN_FEATURES": 1999, "HIDDEN": 2005},
}
# "scaled" first: with the usual inputs each row sums to nearly HIDDEN / 2.
DISTRIBUTIONS = ("scaled", "centred", "structured")
FAMILY = "matmul"
PRECISIONS = ("fp32",)  # at HIDDEN / 2 fp16 and bf16 step by as much as rows differ


class Model(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.linear = nn.Linear(input_size, hidden_size)

    def forward(self, x):
        return torch.sigmoid(self.linear(x)).sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, HIDDEN]
