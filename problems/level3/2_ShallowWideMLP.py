"""Perceptron with two hidden layers, each twice as wide as input and output.

    h1 = max(0, W1 x + b1)
    h2 = max(0, W2 h1 + b2)
    y  = W3 h2 + b3

W1, W2, W3 are `network.0.weight`, `network.2.weight`, `network.4.weight`, and the b alike. There is one hidden layer
for each entry of HIDDEN. The weights take 8 GB: reading them once is most of the work.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).
"""
import torch
import torch.nn as nn

BATCH = 128
IN_FEATURES = 16384
HIDDEN = [32768, 32768]
OUT_FEATURES = 16384

SIZES = {
    "small": {"IN_FEATURES": 768, "HIDDEN": [1536, 1536], "OUT_FEATURES": 768},
    "odd": {"BATCH": 123, "IN_FEATURES": 757, "HIDDEN": [1531, 1543], "OUT_FEATURES": 779},
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
