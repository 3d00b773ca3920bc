"""Multimodal diffusion transformer (MMDiT) of Stable Diffusion 3: two streams, image and text, that attend jointly.

    c = mlp(sines(t)) + mlp(pooled)                              one vector for each sample; mlp: linear, silu, linear
    x = W_patch (patches of the image) + places                  image tokens, PATCH * PATCH pixels each
    z = W_text text                                              text tokens

In each of LAYERS blocks, for both streams s, text z and image x, with weights of their own for each, and
norm(s) = (s - mean) / sqrt(variance + 1e-6) over the numbers of a token:

    a, b, f, d, e, g = the six sixths of W_mod silu(c)
    q, k, v          = W_qkv (norm(s) * (1 + b) + a), cut into heads
    s                = s + f * W_o (softmax(q k^T / sqrt(D)) v)           over the tokens of both streams, text first
    s                = s + g * W_2 gelu(W_1 (norm(s) * (1 + e) + d))      gelu with tanh

In the last block text gives only q, k and v, and its W_mod only a and b. At last (a, b) = W_mod silu(c), and each token
x gives PATCH * PATCH pixels, channels last, W_out (norm(x) * (1 + b) + a), which are put where the token's patch was.

sines(t) = cos(t f[i]), i < 128, then sin(t f[i]), f[i] = 10000^(-i / 128). The buffer `places`, (tokens, width), holds
for the patch in row r and column l sin(l f[i]), cos(l f[i]), sin(r f[i]), cos(r f[i]), i < width / 4 each, with
f[i] = 10000^(-4 i / width). Rows and columns are counted in a square of GRID patches that has the image in its middle.
Every linear layer has a bias. D = width / HEADS is HEAD.

Inputs: image, (BATCH, CHANNELS, HEIGHT, WIDTH), t, (BATCH,), text, (BATCH, TOKENS, TEXT) and pooled, (BATCH, POOLED).
Output: the size of image. The widths are the 2-billion model's, which has 24 blocks and 16 channels.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS = 4
HEIGHT = 256
WIDTH = 256
PATCH = 2
GRID = 192
TOKENS = 154
TEXT = 4096
POOLED = 2048
LAYERS = 4
HEADS = 24
HEAD = 64

FAMILY = "transformer"
SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 20, "WIDTH": 20, "GRID": 16, "TOKENS": 29, "TEXT": 192, "POOLED": 96, "LAYERS": 2,
              "HEADS": 3, "HEAD": 64},
    # The width, HEADS * HEAD, is a multiple of 4, and an image a whole number of patches.
    "odd": {"BATCH": 3, "CHANNELS": 5, "HEIGHT": 33, "WIDTH": 27, "PATCH": 3, "GRID": 15, "TOKENS": 23, "TEXT": 149,
            "POOLED": 83, "LAYERS": 2, "HEADS": 5, "HEAD": 36},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


def waves(values, frequencies):
    """(values, frequencies): each value times each of a falling series of frequencies."""
    steps = torch.arange(frequencies, dtype=values.dtype, device=values.device) / frequencies
    return torch.outer(values, 10000.0**-steps)


def places(rows, columns, grid, width):
    """(rows * columns, width): sines and cosines of each patch's column, then of its row."""
    parts = []
    for count, shape in ((columns, (1, columns, -1)), (rows, (rows, 1, -1))):
        angles = waves(torch.arange(count, dtype=torch.float64) + (grid - count) // 2, width // 4)
        parts += [part.view(shape).expand(rows, columns, -1) for part in (angles.sin(), angles.cos())]
    return torch.cat(parts, dim=-1).flatten(0, 1).float()


def linear(inputs, outputs, gain=1.0):
    """A linear layer whose output has `gain` times the scale of its input."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=gain * inputs**-0.5)
    return layer


def mlp(inputs, outputs):
    return nn.Sequential(linear(inputs, outputs), nn.SiLU(), linear(outputs, outputs))


def normalised(x, shift, scale):
    """x: (batch, tokens, width); shift and scale: (batch, width)."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


def attention(q, k, v):
    """In fp64 no kernel does without the logits. All heads' at once would take 420 GB, so heads go one by one."""
    if q.dtype != torch.float64:
        return F.scaled_dot_product_attention(q, k, v)
    heads = zip(*(part.flatten(0, 1).split(1) for part in (q, k, v)))
    return torch.cat([F.scaled_dot_product_attention(*head) for head in heads]).view_as(q)


class Stream(nn.Module):
    """What one block does to the tokens of one stream, before and after the joint attention."""

    def __init__(self, width, heads, ends):
        super().__init__()
        self.heads, self.ends = heads, ends
        self.modulation = linear(width, 2 * width if ends else 6 * width)
        self.qkv = linear(width, 3 * width)
        if not ends:
            self.proj = linear(width, width)
            self.fc1 = linear(width, 4 * width)
            self.fc2 = linear(4 * width, width)
        # Logits of some size: the mean over thousands of tokens would be nearly 0.
        self.qkv.weight.data[:2 * width] *= 1.6

    def open(self, x, c):
        """Queries, keys and values of the tokens, (batch, heads, tokens, HEAD), and what `close` needs."""
        shift, scale, *rest = self.modulation(F.silu(c)).chunk(2 if self.ends else 6, dim=-1)
        qkv = self.qkv(normalised(x, shift, scale))
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1)], rest

    def close(self, x, attended, rest):
        gate, shift, scale, mlp_gate = rest
        x = x + gate.unsqueeze(1) * self.proj(attended)
        inner = F.gelu(self.fc1(normalised(x, shift, scale)), approximate="tanh")
        return x + mlp_gate.unsqueeze(1) * self.fc2(inner)


class Block(nn.Module):
    def __init__(self, width, heads, last):
        super().__init__()
        self.text = Stream(width, heads, ends=last)
        self.image = Stream(width, heads, ends=False)

    def forward(self, z, x, c):
        text_qkv, text_rest = self.text.open(z, c)
        image_qkv, image_rest = self.image.open(x, c)
        y = attention(*(torch.cat(pair, dim=2) for pair in zip(text_qkv, image_qkv)))
        for_text, for_image = y.transpose(1, 2).flatten(2).split((z.shape[1], x.shape[1]), dim=1)
        z = z if self.text.ends else self.text.close(z, for_text, text_rest)
        return z, self.image.close(x, for_image, image_rest)


class Model(nn.Module):
    def __init__(self, channels, height, width, patch, grid, text, pooled, layers, heads, head):
        super().__init__()
        hidden = heads * head
        self.channels, self.patch, self.rows, self.columns = channels, patch, height // patch, width // patch
        self.patches = nn.Conv2d(channels, hidden, patch, stride=patch)
        self.time = mlp(256, hidden)
        self.pooled = mlp(pooled, hidden)
        self.text = linear(text, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, last=i == layers - 1) for i in range(layers))
        self.modulation = linear(hidden, 2 * hidden)
        self.out = linear(hidden, patch * patch * channels)
        self.register_buffer("places", places(self.rows, self.columns, grid, hidden))

    def forward(self, image, t, text, pooled):
        angles = waves(t.to(torch.promote_types(t.dtype, torch.float32)), 128)
        c = self.time(torch.cat((angles.cos(), angles.sin()), dim=-1).to(t.dtype)) + self.pooled(pooled)

        x = self.patches(image).flatten(2).transpose(1, 2) + self.places
        z = self.text(text)
        for block in self.blocks:
            z, x = block(z, x, c)

        shift, scale = self.modulation(F.silu(c)).chunk(2, dim=-1)
        pixels = self.out(normalised(x, shift, scale)).unflatten(1, (self.rows, self.columns))
        pixels = pixels.unflatten(-1, (self.patch, self.patch, self.channels))
        return pixels.permute(0, 5, 1, 3, 2, 4).reshape(image.shape)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH), 1000 * torch.rand(BATCH), torch.randn(BATCH, TOKENS, TEXT),
            torch.randn(BATCH, POOLED)]


def get_init_inputs():
    return [CHANNELS, HEIGHT, WIDTH, PATCH, GRID, TEXT, POOLED, LAYERS, HEADS, HEAD]
