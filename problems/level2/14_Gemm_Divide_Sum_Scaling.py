"""Product with a weight matrix, halved, summed over the features of each sample, and scaled.

    y[n] = SCALE * sum over o of ( (x W^T)[n, o] / 2 )

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, 1). There is no bias.
"""
import torch
import torch.nn as nn

BATCH = 1024
IN_FEATURES = 8192
HIDDEN = 8192
SCALE = 1.5

FAMILY = "matmul"
SIZES = {
    "small": {"BATCH": 1024, "IN_FEATURES": 512, "HIDDEN": 512},
    "odd": {"BATCH": 1011, "IN_FEATURES": 519, "HIDDEN": 525},
}
# Not "scaled": the sums would not fit in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")
COLLAPSES = "the sum over features can be taken first, which leaves a product with one vector, the sum of W's rows"


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, scaling_factor):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden_size, input_size))
        self.scaling_factor = scaling_factor

    def forward(self, x):
        halves = (x @ self.weight.T) / 2
        return halves.sum(dim=1, keepdim=True) * self.scaling_factor


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, HIDDEN, SCALE]
