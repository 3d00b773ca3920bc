"""Language model of the Llama 2 kind with four layers: logits of the token after a new one, with a cache for the past.

With x the embedding of the new token, at position t = CACHE, and norm(z) = z / sqrt(mean of z^2 + 1e-5) * gain, in each
layer

    x      = x + W_o attention(norm(x))
    x      = x + W_down ( silu(W_gate norm(x)) * (W_up norm(x)) )
    logits = W_head norm(x)                              after the last layer

and in the attention, with z = norm(x), h one of HEADS and D = HIDDEN / HEADS,

    q[h] = R(t) W_q z,  k[t, h] = R(t) W_k z,  v[t, h] = W_v z      cut into heads; k[s] and v[s], s < t, are cached
    a[s, h] = softmax over s <= t of q[h] . k[s, h] / sqrt(D)
    result  = sum over s of a[s, h] v[s, h], heads joined

R(t) turns each pair of neighbours (2i, 2i + 1) of a head by the angle t * THETA^(-2i / D), i < D / 2: (p, q) becomes
(p cos - q sin, q cos + p sin). The buffers `cos` and `sin`, (MAX_POSITIONS, D / 2), hold these for every position.

Inputs: tokens, (BATCH, 1) of int64 in [0, VOCABULARY), and the cached keys, turned already, and values, both (LAYERS,
BATCH, HEADS, CACHE, D). Output: logits, (BATCH, 1, VOCABULARY), and the new keys and values, both (LAYERS, BATCH,
HEADS, 1, D). No layer has a bias. HIDDEN, HEADS and INNER are half of the 7-billion model's; INNER is 8 / 3 HIDDEN,
rounded up to 256. Keys have a standard deviation of 2, or the attention would be close to the values' mean, which is 0.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CACHE = 4096
VOCABULARY = 32000
LAYERS = 4
HIDDEN = 2048
HEADS = 16
INNER = 5632
MAX_POSITIONS = 8192
THETA = 10000.0

FAMILY = "transformer"
SIZES = {
    "small": {"BATCH": 2, "CACHE": 512, "VOCABULARY": 4000, "LAYERS": 2, "HIDDEN": 512, "HEADS": 8, "INNER": 1536,
              "MAX_POSITIONS": 640},
    # HIDDEN / HEADS is even: its numbers come in pairs.
    "odd": {"BATCH": 3, "CACHE": 461, "VOCABULARY": 3989, "LAYERS": 3, "HIDDEN": 434, "HEADS": 7, "INNER": 1163,
            "MAX_POSITIONS": 547},
}
# Not "scaled": it enlarges the cached keys, and a softmax of large logits only keeps rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


def rotate(x, cos, sin):
    """x: (..., D); cos and sin: (D / 2)."""
    p, q = x[..., 0::2], x[..., 1::2]
    return torch.stack((p * cos - q * sin, q * cos + p * sin), dim=-1).flatten(-2)


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


def norm(width):
    layer = nn.RMSNorm(width, eps=1e-5)
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    return layer


class Layer(nn.Module):
    def __init__(self, hidden, heads, inner):
        super().__init__()
        self.heads = heads
        self.attention_norm = norm(hidden)
        self.q_proj = linear(hidden, hidden)
        self.k_proj = linear(hidden, hidden)
        self.v_proj = linear(hidden, hidden)
        self.o_proj = linear(hidden, hidden)
        self.mlp_norm = norm(hidden)
        self.gate_proj = linear(hidden, inner)
        self.up_proj = linear(hidden, inner)
        self.down_proj = linear(inner, hidden)

    def forward(self, x, keys, values, cos, sin):
        """x: (batch, 1, hidden); keys and values: (batch, heads, cached positions, D)."""
        z = self.attention_norm(x)
        projected = (self.q_proj(z), self.k_proj(z), self.v_proj(z))
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in projected)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        x = x + self.o_proj(self.attention(q, k, v, keys, values).flatten(1).unsqueeze(1))
        z = self.mlp_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(z)) * self.up_proj(z)), k, v

    def attention(self, q, k, v, keys, values):
        """The softmax runs over cached positions and the new one, without a copy of the cache."""
        logits = torch.cat((q @ keys.transpose(-2, -1), q @ k.transpose(-2, -1)), dim=-1) / math.sqrt(q.shape[-1])
        of_cache, of_new = torch.softmax(logits, dim=-1).split((keys.shape[-2], 1), dim=-1)
        return of_cache @ values + of_new @ v


class Model(nn.Module):
    def __init__(self, vocabulary, layers, hidden, heads, inner, max_positions, theta):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner) for _ in range(layers))
        self.norm = norm(hidden)
        self.head = linear(hidden, vocabulary)
        head = hidden // heads
        frequencies = theta ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
        angles = torch.outer(torch.arange(max_positions, dtype=torch.float64), frequencies)
        self.register_buffer("cos", angles.cos().float())
        self.register_buffer("sin", angles.sin().float())

    def forward(self, tokens, key_cache, value_cache):
        position = key_cache.shape[-2]
        x = self.embedding(tokens)
        new_keys, new_values = [], []
        for layer, keys, values in zip(self.layers, key_cache, value_cache):
            x, k, v = layer(x, keys, values, self.cos[position], self.sin[position])
            new_keys.append(k)
            new_values.append(v)
        return self.head(self.norm(x)), torch.stack(new_keys), torch.stack(new_values)


def get_inputs():
    cache = (LAYERS, BATCH, HEADS, CACHE, HIDDEN // HEADS)
    return [torch.randint(0, VOCABULARY, (BATCH, 1)), 2 * torch.randn(cache), torch.randn(cache)]


def get_init_inputs():
    return [VOCABULARY, LAYERS, HIDDEN, HEADS, INNER, MAX_POSITIONS, THETA]
