"""Layer normalisation of each sample over all its channels and pixels, with a gain and a shift for every element.

    y[n, i] = (x[n, i] - mean over i of x[n, i]) / sqrt(variance over i of x[n, i] + eps) * weight[i] + bias[i]

i runs over channel, row and column; the variance is divided by their number; eps is 1e-5; weight and bias are
`ln.weight` and `ln.bias`.

Input: x, (BATCH, FEATURES, HEIGHT, WIDTH). Output: y, the same shape.
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
    "odd": {"BATCH": 5, "FEATURES": 61, "HEIGHT": 107, "WIDTH": 121},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape)
        # By default all weights are 1 and all biases 0: nobody would miss them.
        nn.init.normal_(self.ln.weight)
        nn.init.normal_(self.ln.bias)

    def forward(self, x):
        return self.ln(x)


def get_inputs():
    # Plain randn has mean 0 and variance 1 already, and normalising it changes nothing: give each sample its own.
    spread = 0.5 + 2 * torch.rand(BATCH, 1, 1, 1)
    level = torch.randn(BATCH, 1, 1, 1)
    return [spread * torch.randn(BATCH, FEATURES, HEIGHT, WIDTH) + level]


def get_init_inputs():
    return [(FEATURES, HEIGHT, WIDTH)]
