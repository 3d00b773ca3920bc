"""Linear layer, scaled and doubled, clamped, log-sum-exp over the features, times its own Mish.

    z       = (x W^T + b) * SCALE
    c       = clamp(z + z, LOWEST, HIGHEST)
    l[n]    = log(sum over o of exp(c[n, o]))
    y[n]    = l[n] * mish(l[n]), where mish(t) = t * tanh(log(1 + exp(t)))

Input: x, (BATCH, IN_FEATURES). Output: y, (BATCH, 1).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
IN_FEATURES = 8192
HIDDEN = 8192
SCALE = 2.0
LOWEST = -10.0
HIGHEST = 10.0

FAMILY = "matmul"
# Few hidden features: the more there are, the less samples differ.
SIZES = {
    "small": {"BATCH": 4096, "IN_FEATURES": 512, "HIDDEN": 128},
    "odd": {"BATCH": 4099, "IN_FEATURES": 509, "HIDDEN": 131},
}
# "scaled" first: only there does the clamp do anything.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, scale_factor, clamp_min, clamp_max):
        super().__init__()
        self.matmul = nn.Linear(input_size, hidden_size)
        self.scale_factor = scale_factor
        self.clamp_min = clamp_min
        self.clamp_max = clamp_max

    def forward(self, x):
        z = self.matmul(x) * self.scale_factor
        clamped = torch.clamp(z + z, self.clamp_min, self.clamp_max)
        total = torch.logsumexp(clamped, dim=1, keepdim=True)
        return total * F.mish(total)


def get_inputs():
    return [torch.rand(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, HIDDEN, SCALE, LOWEST, HIGHEST]
