"""Perceptron with two hidden layers of equal width.

    h1 = max(0, W1 x + b1)
    h2 = max(0, W2 h1 + b2)
    y  = W3 h2 + b3

W1, W2, W3 are `network.0.weight`, `network.2.weight`, `network.4.weight`, and the b alike. There is one hidden layer
for each entry of HIDDEN.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_FEATURES = 16384
HIDDEN = [16384, 16384]
OUT_FEATURES = 8192

SIZES = {
    "small": {"IN_FEATURES": 1024, "HIDDEN": [1024, 1024], "OUT_FEATURES": 512},
    "odd": {"BATCH": 121, "IN_FEATURES": 1021, "HIDDEN": [1033, 1009], "OUT_FEATURES": 517},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "mlp"


class Model(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        widths = [in_features, *hidden]
        layers = []
        for before, after in zip(widths, hidden):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.Linear(widths[-1], out_features))

    def forward(self, x):
        return self.network(x)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, HIDDEN, OUT_FEATURES]
