"""Perceptron with sixteen hidden layers, narrower than input and output.

    h[0]     = x
    h[i + 1] = max(0, W[i] h[i] + b[i])    for each of the len(HIDDEN) hidden layers
    y        = W[last] h[last] + b[last]

W[i] is `network.{2 i}.weight` and b[i] is `network.{2 i}.bias`.

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, OUT_FEATURES).

Each layer's initial weights shrink what comes in about 2.4 times and its bias does not shrink, so after sixteen layers
the output is nearly the same for every input. The smaller sizes have fewer layers, where the input still shows.
"""
import torch
import torch.nn as nn

BATCH = 1024
IN_FEATURES = 8192
HIDDEN = [1024] * 16
OUT_FEATURES = 8192

SIZES = {
    "small": {"BATCH": 512, "IN_FEATURES": 1024, "HIDDEN": [256, 256, 256, 256], "OUT_FEATURES": 1024},
    "odd": {"BATCH": 509, "IN_FEATURES": 1019, "HIDDEN": [253, 247, 261, 259], "OUT_FEATURES": 1033},
}
# "scaled" first: there the input outweighs the biases for longest.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
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
