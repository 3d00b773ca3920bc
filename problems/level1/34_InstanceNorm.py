"""Instance normalisation: each channel of each image by its own mean and variance.

    y[n, c, h, w] = (x[n, c, h, w] - mean[n, c]) / sqrt(variance[n, c] + eps)

Input: x, (BATCH, FEATURES, HEIGHT, WIDTH). Output: y, the same shape. There is no learned gain or shift.

mean[n, c] and variance[n, c] are taken over h and w, with HEIGHT * WIDTH as divisor, and eps is 1e-5.
"""
import torch
import torch.nn as nn

BATCH = 112
FEATURES = 64
HEIGHT = 512
WIDTH = 512

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 8, "HEIGHT": 96, "WIDTH": 96},
    "odd": {"BATCH": 9, "FEATURES": 59, "HEIGHT": 109, "WIDTH": 87},
}
# As drawn, every channel has mean 1/2 and variance 1/12: "sparse" and "structured" have others.
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.norm = nn.InstanceNorm2d(num_features)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(BATCH, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [FEATURES]
