"""Layer normalisation of every image over all its elements, then a gain and a shift for each element.

    y[n, i] = (x[n, i] - mean over i of x[n, i]) / sqrt(variance over i of x[n, i] + eps) * weight[i] + bias[i]

where i counts channel, row and column, the variance is the mean square distance from the mean, and eps is 1e-5.

Input: x, (BATCH, FEATURES, HEIGHT, WIDTH). Output: y, the same shape. `ln.weight` is 1 and `ln.bias` 0 at the start.
"""
import torch
import torch.nn as nn

BATCH = 16
FEATURES = 64
HEIGHT = 256
WIDTH = 256

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 3, "FEATURES": 61, "HEIGHT": 113, "WIDTH": 119},
}
# The mean and the variance of the inputs as drawn are known beforehand; those of the others are not.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape)

    def forward(self, x):
        return self.ln(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [(FEATURES, HEIGHT, WIDTH)]
