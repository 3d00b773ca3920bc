"""Batch normalisation of images in training: each channel by its mean and variance over the batch and all positions.

    y[n, c, h, w] = (x[n, c, h, w] - mean[c]) / sqrt(variance[c] + eps) * weight[c] + bias[c]

Input: x, (BATCH, FEATURES, HEIGHT, WIDTH). Output: y, the same shape.

mean[c] and variance[c] are taken over n, h and w of the input at hand, with the count as divisor, and eps is 1e-5.
`bn.weight` is 1 and `bn.bias` 0 at the start. The running statistics are updated on the way, neither used nor compared.
"""
import torch
import torch.nn as nn

BATCH = 64
FEATURES = 64
HEIGHT = 512
WIDTH = 512

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 7, "FEATURES": 61, "HEIGHT": 91, "WIDTH": 107},
}
# As drawn, every channel has mean 1/2 and variance 1/12: "sparse" and "structured" have others.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x):
        return self.bn(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [FEATURES]
