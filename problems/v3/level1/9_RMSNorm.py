"""Division of every pixel by the root mean square of its channels.

    y[n, c, h, w] = x[n, c, h, w] / sqrt(mean over c of x[n, c, h, w]^2 + EPS)

There is no learned gain.

Input: x, (BATCH, FEATURES, HEIGHT, WIDTH). Output: y, the same shape.
"""
import torch
import torch.nn as nn

BATCH = 16
FEATURES = 64
HEIGHT = 256
WIDTH = 256
EPS = 1e-5

FAMILY = "normalisation"
SIZES = {
    "small": {"BATCH": 4, "HEIGHT": 128, "WIDTH": 128},
    "odd": {"BATCH": 5, "FEATURES": 61, "HEIGHT": 107, "WIDTH": 121},
}
# Not "scaled": the squares overflow in fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        mean_square = x.square().mean(dim=1, keepdim=True)
        return x / torch.sqrt(mean_square + self.eps)


def get_inputs():
    return [torch.randn(BATCH, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [EPS]
