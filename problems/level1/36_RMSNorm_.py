"""Root-mean-square normalisation over the channels of an image.

    y[n, c, h, w] = x[n, c, h, w] / sqrt(mean over c of x[n, c, h, w]^2 + eps)

Input: x, (BATCH, FEATURES, HEIGHT, WIDTH). Output: y, the same shape. There is no learned gain.
"""
import torch
import torch.nn as nn

BATCH = 112
FEATURES = 64
HEIGHT = 512
WIDTH = 512

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 5, "FEATURES": 61, "HEIGHT": 113, "WIDTH": 119},
}
DISTRIBUTIONS = ("centred", "outliers", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x):
        mean_square = x.pow(2).mean(dim=1, keepdim=True)
        return x / torch.sqrt(mean_square + self.eps)


def get_inputs():
    return [torch.rand(BATCH, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [FEATURES]
