"""Three-dimensional convolution, a factor, instance normalisation, clamping, the factor again, and the largest channel.

    z[n, o] = multiplier[o] * conv(x)[n, o], the convolution with its bias and without padding
    g[n, o] = (z[n, o] - mean of z[n, o]) / sqrt(variance of z[n, o] + eps)
    a[n, o] = multiplier[o] * min(max(g[n, o], CLAMP_MIN), CLAMP_MAX)
    y[n]    = max over o of a[n, o], position by position

Mean and variance (divided by the count) are taken over the positions of one channel of one sample; there is no
learned gain; eps is 1e-5. Both products use the same multipliers.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, DEPTH - KERNEL + 1, HEIGHT - KERNEL + 1, WIDTH - KERNEL + 1).
"""
import torch
import torch.nn as nn

FAMILY = "convolution"

BATCH = 128
IN_CHANNELS = 3
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 32
KERNEL = 3
CLAMP_MIN = -1.0
CLAMP_MAX = 1.0

SIZES = {
    "small": {"BATCH": 16, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 13, "OUT_CHANNELS": 17, "DEPTH": 13, "HEIGHT": 21, "WIDTH": 27},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, multiplier_shape, clamp_min, clamp_max):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.multiplier = nn.Parameter(torch.randn(multiplier_shape))
        self.instance_norm = nn.InstanceNorm3d(out_channels)
        self.clamp_min = clamp_min
        self.clamp_max = clamp_max

    def forward(self, x):
        normalised = self.instance_norm(self.conv(x) * self.multiplier)
        clamped = normalised.clamp(self.clamp_min, self.clamp_max)
        return (clamped * self.multiplier).amax(dim=1)


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, (OUT_CHANNELS, 1, 1, 1), CLAMP_MIN, CLAMP_MAX]
