"""Three-dimensional convolution, max pooling, log-sum-exp over the channels, then ReLU.

    m[n, o] = largest value of conv(x)[n, o] in each block of POOL x POOL x POOL
    y[n, 0] = max(log(sum over o of exp(m[n, o])), 0)

The convolution has a bias and PADDING zeros on every side; the pooling windows do not overlap, and what does not fill a
window is left out.

Input: x, (BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH).
Output: y, (BATCH, 1, OUT_DEPTH / POOL, OUT_HEIGHT / POOL, OUT_WIDTH / POOL), rounded down, with
OUT_DEPTH = (DEPTH + 2 * PADDING - KERNEL) / STRIDE + 1, and the others alike.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
IN_CHANNELS = 32
OUT_CHANNELS = 64
DEPTH = 32
HEIGHT = 128
WIDTH = 128
KERNEL = 3
STRIDE = 1
PADDING = 1
POOL = 2

SIZES = {
    "small": {"IN_CHANNELS": 16, "OUT_CHANNELS": 32, "DEPTH": 8, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 5, "IN_CHANNELS": 13, "OUT_CHANNELS": 29, "DEPTH": 7, "HEIGHT": 29, "WIDTH": 35},
}
# The usual results are all near log(OUT_CHANNELS): "scaled" shows what a wrong kernel does, and exp overflows there.
DISTRIBUTIONS = ("scaled", "centred", "sparse", "structured")
FAMILY = "convolution"
PRECISIONS = ("fp32", "fp16")  # bf16 steps further than the results differ


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size, stride, padding)

    def forward(self, x):
        peaks = F.max_pool3d(self.conv(x), POOL)
        return torch.relu(torch.logsumexp(peaks, dim=1, keepdim=True))


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING]
