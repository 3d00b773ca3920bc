"""Causal attention in which groups of query heads share one head of keys and values (GQA, as in Llama 3).

With x[t] the hidden vector at position t, h one of QUERY_HEADS, and g = h / (QUERY_HEADS / KV_HEADS), rounded down:

    q[t, h] = R(t) W_q x[t],  k[t, g] = R(t) W_k x[t],  v[t, g] = W_v x[t]      cut into heads of HEAD numbers
    a[t, s, h] = softmax over s <= t of q[t, h] . k[s, g] / sqrt(HEAD)
    y[t]       = W_o ( sum over s of a[t, s, h] v[s, g], heads joined )

R(t) turns each pair of numbers (i, i + HEAD / 2) of a head by the angle t * THETA^(-2i / HEAD), i < HEAD / 2: (p, q)
becomes (p cos - q sin, q cos + p sin). The buffers `cos` and `sin`, (MAX_POSITIONS, HEAD / 2), hold these for every
position.

Input: x, (BATCH, SEQUENCE, HIDDEN). Output: y, the same shape. No layer has a bias.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQUENCE = 2048
HIDDEN = 4096
QUERY_HEADS = 32
KV_HEADS = 8
HEAD = 128
MAX_POSITIONS = 4096
THETA = 500000.0

FAMILY = "attention"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 256, "HIDDEN": 512, "QUERY_HEADS": 8, "KV_HEADS": 2, "HEAD": 64,
              "MAX_POSITIONS": 320},
    # HEAD is even: its numbers come in pairs.
    "odd": {"BATCH": 3, "SEQUENCE": 167, "HIDDEN": 413, "QUERY_HEADS": 9, "KV_HEADS": 3, "HEAD": 46,
            "MAX_POSITIONS": 203},
}
# Not "scaled": the logits grow with the square of the input, and softmax then only keeps their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


def rotate(x, cos, sin):
    """x: (..., positions, HEAD); cos and sin: (positions, HEAD / 2)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


class Model(nn.Module):
    def __init__(self, hidden, query_heads, kv_heads, head, max_positions, theta):
        super().__init__()
        self.query_heads, self.kv_heads = query_heads, kv_heads
        self.q_proj = linear(hidden, query_heads * head)
        self.k_proj = linear(hidden, kv_heads * head)
        self.v_proj = linear(hidden, kv_heads * head)
        self.o_proj = linear(query_heads * head, hidden)
        frequencies = theta ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
        angles = torch.outer(torch.arange(max_positions, dtype=torch.float64), frequencies)
        self.register_buffer("cos", angles.cos().float())
        self.register_buffer("sin", angles.sin().float())

    def forward(self, x):
        length = x.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]

        # (batch, heads, positions, numbers) from here on: positions are next to last, as in cos and sin.
        q = rotate(self.q_proj(x).unflatten(-1, (self.query_heads, -1)).transpose(1, 2), cos, sin)
        k = rotate(self.k_proj(x).unflatten(-1, (self.kv_heads, -1)).transpose(1, 2), cos, sin)
        v = self.v_proj(x).unflatten(-1, (self.kv_heads, -1)).transpose(1, 2)

        group = self.query_heads // self.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, HIDDEN)]


def get_init_inputs():
    return [HIDDEN, QUERY_HEADS, KV_HEADS, HEAD, MAX_POSITIONS, THETA]
