"""Encoder of HunyuanVideo's causal 3D autoencoder: a clip becomes the moments of a smaller, latent clip.

conv is a convolution with kernel 3 whose input is extended by repeating its border: one row and column on each side,
two frames before the first and none after the last. norm is group normalisation with GROUPS groups, eps 1e-6.

    res(h)    = shortcut(h) + conv( silu(norm( conv( silu(norm(h)) ) )) )
    h         = conv(x)
    stage i   : h = res(h), BLOCKS times, the first from the width before to WIDTHS[i]
                h = conv(h) with stride 2 in rows and columns and TIME_STRIDES[i] in frames; not after the last stage
    middle    : h = res(h);  h = h + attention(norm(h));  h = res(h)
    y         = quant( conv( silu(norm(h)) ) )

shortcut is a 1x1x1 convolution where the width changes, else the identity; quant is 1x1x1, too. Attention has one head
as wide as h: a position looks at all positions of its own frame and of earlier ones.

    q, k, v = W_q z, W_k z, W_v z          attention(z) = W_o ( softmax(q . k / sqrt(WIDTHS[-1])) v ), all with bias

Input: x, (BATCH, CHANNELS, FRAMES, HEIGHT, WIDTH). Output: y, (BATCH, 2 * LATENT, frames, rows, columns), means first,
then the logarithms of the variances; an extent n becomes (n - 1) / stride + 1, rounded down, at each stride.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS = 3
FRAMES = 8
HEIGHT = 64
WIDTH = 64
LATENT = 16
WIDTHS = [128, 256, 512, 512]
TIME_STRIDES = [1, 2, 2]
BLOCKS = 2
GROUPS = 32

FAMILY = "convolutional network"
SIZES = {
    "small": {"BATCH": 2, "FRAMES": 5, "HEIGHT": 32, "WIDTH": 32, "LATENT": 8, "WIDTHS": [16, 32, 64, 64], "BLOCKS": 1,
              "GROUPS": 8},
    "odd": {"BATCH": 3, "FRAMES": 7, "HEIGHT": 27, "WIDTH": 29, "LATENT": 5, "WIDTHS": [15, 33, 51, 57], "BLOCKS": 1,
            "GROUPS": 3},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class CausalConv(nn.Conv3d):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__(inputs, outputs, 3, stride=stride)

    def forward(self, x):
        return super().forward(F.pad(x, (1, 1, 1, 1, 2, 0), mode="replicate"))


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
        self.norm1, self.conv1 = norm(groups, inputs), CausalConv(inputs, outputs)
        self.norm2, self.conv2 = norm(groups, outputs), CausalConv(outputs, outputs)
        self.shortcut = nn.Conv3d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(h)))


class FrameCausalAttention(nn.Module):
    def __init__(self, width, groups):
        super().__init__()
        self.norm = norm(groups, width)
        self.q, self.k, self.v, self.out = (linear(width, width) for _ in range(4))

    def forward(self, x):
        frames, area = x.shape[2], x.shape[3] * x.shape[4]
        z = self.norm(x).flatten(2).mT  # (batch, positions, width), frame after frame
        frame = torch.arange(frames, device=x.device).repeat_interleave(area)
        seen = frame[:, None] >= frame[None, :]
        y = F.scaled_dot_product_attention(self.q(z), self.k(z), self.v(z), attn_mask=seen)
        return x + self.out(y).mT.reshape(x.shape)


class Model(nn.Module):
    def __init__(self, channels, latent, widths, time_strides, blocks, groups):
        super().__init__()
        layers = [CausalConv(channels, widths[0])]
        before = widths[0]
        for stage, width in enumerate(widths):
            layers += [ResBlock(before if block == 0 else width, width, groups) for block in range(blocks)]
            if stage < len(time_strides):
                layers.append(CausalConv(width, width, stride=(time_strides[stage], 2, 2)))
            before = width
        self.down = nn.Sequential(*layers)
        self.middle = nn.Sequential(
            ResBlock(width, width, groups),
            FrameCausalAttention(width, groups),
            ResBlock(width, width, groups),
        )
        self.norm_out, self.conv_out = norm(groups, width), CausalConv(width, 2 * latent)
        self.quant = nn.Conv3d(2 * latent, 2 * latent, 1)

    def forward(self, x):
        h = self.middle(self.down(x))
        return self.quant(self.conv_out(F.silu(self.norm_out(h))))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, FRAMES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, LATENT, WIDTHS, TIME_STRIDES, BLOCKS, GROUPS]
