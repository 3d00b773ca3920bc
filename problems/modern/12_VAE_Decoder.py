"""Decoder of a 3D variational autoencoder: a latent clip becomes a clip of frames, larger in time and space.

conv is a convolution with kernel 3 and one 0 of padding on every side. norm is group normalisation with GROUPS groups,
eps 1e-6.

    res(h)    = shortcut(h) + conv( silu(norm( conv( silu(norm(h)) ) )) )
    h         = conv( quant(z) )                                                        WIDTHS[0] channels
    middle    : h = res(h);  h = h + attention(norm(h));  h = res(h)
    stage i   : h = res(h), BLOCKS times, the first from the width before to WIDTHS[i]
                h = conv(h, each number repeated TIME_FACTORS[i] times in frames and twice in rows and in columns);
                not after the last stage
    y         = conv( silu(norm(h)) )

quant is a 1x1x1 convolution, as is shortcut where the width changes; else shortcut is the identity. Attention works in
each frame alone, among its positions, with one head as wide as h:

    q, k, v = W_q u, W_k u, W_v u          attention(u) = W_o ( softmax(q . k / sqrt(WIDTHS[0])) v ), all with bias

Input: z, (BATCH, LATENT, FRAMES, HEIGHT, WIDTH). Output: y, (BATCH, CHANNELS, FRAMES * product of TIME_FACTORS,
HEIGHT * 2^n, WIDTH * 2^n) with n the number of TIME_FACTORS.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
LATENT = 3
FRAMES = 16
HEIGHT = 32
WIDTH = 32
CHANNELS = 3
WIDTHS = [128, 64, 32]
TIME_FACTORS = [1, 2]
BLOCKS = 2
GROUPS = 16

FAMILY = "convolutional network"
SIZES = {
    "small": {"BATCH": 2, "FRAMES": 4, "HEIGHT": 8, "WIDTH": 8, "WIDTHS": [48, 24, 16], "BLOCKS": 1, "GROUPS": 8},
    "odd": {"BATCH": 3, "LATENT": 5, "FRAMES": 3, "HEIGHT": 5, "WIDTH": 7, "WIDTHS": [51, 33, 15], "BLOCKS": 1,
            "GROUPS": 3},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


def conv(inputs, outputs):
    return nn.Conv3d(inputs, outputs, 3, padding=1)


def norm(groups, width):
    layer = nn.GroupNorm(groups, width, eps=1e-6)
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    nn.init.normal_(layer.bias, std=0.2)
    return layer


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


class ResBlock(nn.Module):
    def __init__(self, inputs, outputs, groups):
        super().__init__()
        self.norm1, self.conv1 = norm(groups, inputs), conv(inputs, outputs)
        self.norm2, self.conv2 = norm(groups, outputs), conv(outputs, outputs)
        self.shortcut = nn.Conv3d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(h)))


class AttentionInFrames(nn.Module):
    def __init__(self, width, groups):
        super().__init__()
        self.norm = norm(groups, width)
        self.q, self.k, self.v, self.out = (linear(width, width) for _ in range(4))

    def forward(self, x):
        u = self.norm(x).movedim(1, -1).flatten(2, 3)  # (batch, frame, position, width)
        y = self.out(F.scaled_dot_product_attention(self.q(u), self.k(u), self.v(u)))
        return x + y.unflatten(2, x.shape[3:]).movedim(-1, 1)


class Upsample(nn.Module):
    def __init__(self, width, time_factor):
        super().__init__()
        self.conv = conv(width, width)
        self.factors = (float(time_factor), 2.0, 2.0)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=self.factors, mode="nearest"))


class Model(nn.Module):
    def __init__(self, latent, channels, widths, time_factors, blocks, groups):
        super().__init__()
        self.quant, self.conv_in = nn.Conv3d(latent, latent, 1), conv(latent, widths[0])
        self.middle = nn.Sequential(
            ResBlock(widths[0], widths[0], groups),
            AttentionInFrames(widths[0], groups),
            ResBlock(widths[0], widths[0], groups),
        )
        layers = []
        before = widths[0]
        for stage, width in enumerate(widths):
            layers += [ResBlock(before if block == 0 else width, width, groups) for block in range(blocks)]
            if stage < len(time_factors):
                layers.append(Upsample(width, time_factors[stage]))
            before = width
        self.up = nn.Sequential(*layers)
        self.norm_out, self.conv_out = norm(groups, width), conv(width, channels)

    def forward(self, z):
        h = self.up(self.middle(self.conv_in(self.quant(z))))
        return self.conv_out(F.silu(self.norm_out(h)))


def get_inputs():
    return [torch.randn(BATCH, LATENT, FRAMES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [LATENT, CHANNELS, WIDTHS, TIME_FACTORS, BLOCKS, GROUPS]
