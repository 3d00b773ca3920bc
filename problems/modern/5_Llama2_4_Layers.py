"""Language model of the Llama 2 kind with four layers: logits of every next token.

With x[t] the embedding of the token at position t, and norm(z) = z / sqrt(mean of z^2 + 1e-5) * gain, in each layer

    x      = x + W_o attention(norm(x))
    x      = x + W_down ( silu(W_gate norm(x)) * (W_up norm(x)) )
    logits = W_head norm(x)                              after the last layer

and in the attention, with z = norm(x), h one of HEADS and D = HIDDEN / HEADS,

    q[t, h] = R(t) W_q z[t],  k[t, h] = R(t) W_k z[t],  v[t, h] = W_v z[t]      cut into heads
    a[t, s, h] = softmax over s <= t of q[t, h] . k[s, h] / sqrt(D)
    result[t]  = sum over s of a[t, s, h] v[s, h], heads joined

R(t) turns each pair of neighbours (2i, 2i + 1) of a head by the angle t * THETA^(-2i / D), i < D / 2: (p, q) becomes
(p cos - q sin, q cos + p sin). The buffers `cos` and `sin`, (MAX_POSITIONS, D / 2), hold these for every position.

Input: tokens, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY). No layer
has a bias. HIDDEN, HEADS and INNER are half of the 7-billion model's; INNER is 8 / 3 HIDDEN, rounded up to 256.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
SEQUENCE = 256
VOCABULARY = 32000
LAYERS = 4
HIDDEN = 2048
HEADS = 16
INNER = 5632
MAX_POSITIONS = 4096
THETA = 10000.0

FAMILY = "transformer"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 96, "VOCABULARY": 1600, "LAYERS": 2, "HIDDEN": 320, "HEADS": 5, "INNER": 864,
              "MAX_POSITIONS": 128},
    # HIDDEN / HEADS is even: its numbers come in pairs.
    "odd": {"BATCH": 3, "SEQUENCE": 67, "VOCABULARY": 1549, "LAYERS": 2, "HIDDEN": 266, "HEADS": 7, "INNER": 709,
            "MAX_POSITIONS": 101},
}
DISTRIBUTIONS = ()


def rotate(x, cos, sin):
    """x: (..., positions, D); cos and sin: (positions, D / 2)."""
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

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        z = self.mlp_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(z)) * self.up_proj(z))

    def attention(self, z, cos, sin):
        projected = (self.q_proj(z), self.k_proj(z), self.v_proj(z))
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in projected)
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


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

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        return self.head(self.norm(x))


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, LAYERS, HIDDEN, HEADS, INNER, MAX_POSITIONS, THETA]
