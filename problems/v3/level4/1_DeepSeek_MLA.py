"""Causal multi-head latent attention (MLA, as in DeepSeek-V3): queries, keys and values pass through narrow layers.

With x[t] the hidden vector at position t, h one of HEADS, and norm(z) = z / sqrt(mean of z^2 + 1e-6) * gain:

    qn[t, h], qr[t, h]  = W_qb norm(W_qa x[t])        cut into heads; NOPE and ROPE numbers a head
    c[t], kr[t]         = W_kva x[t]                  KV_RANK and ROPE numbers; kr is one for all heads
    kn[t, h], v[t, h]   = W_kvb norm(c[t])            cut into heads; NOPE and VALUE numbers a head
    a[t, s, h]          = softmax over s <= t of (qn[t, h] . kn[s, h] + R(t) qr[t, h] . R(s) kr[s]) / sqrt(NOPE + ROPE)
    y[t]                = W_o ( sum over s of a[t, s, h] v[s, h], heads joined )

R(t) turns each pair of numbers (i, i + ROPE / 2) by the angle t * THETA^(-2i / ROPE), i < ROPE / 2: (p, q) becomes
(p cos - q sin, q cos + p sin). The buffers `cos` and `sin`, (MAX_POSITIONS, ROPE / 2), hold these for every position.

Input: x, (BATCH, SEQUENCE, HIDDEN). Output: y, the same shape. No layer has a bias. The rows of W_qb (`q_b_proj`) and
W_kvb (`kv_b_proj`) are sorted by head, and within a head by the order above.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQUENCE = 2048
HIDDEN = 2048
HEADS = 16
Q_RANK = 1536
KV_RANK = 512
NOPE = 128
ROPE = 64
VALUE = 128
MAX_POSITIONS = 4096
THETA = 10000.0

FAMILY = "attention"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 224, "HIDDEN": 384, "HEADS": 6, "Q_RANK": 288, "KV_RANK": 96, "NOPE": 64,
              "ROPE": 32, "VALUE": 64, "MAX_POSITIONS": 256},
    # ROPE is even: its numbers come in pairs.
    "odd": {"BATCH": 3, "SEQUENCE": 173, "HIDDEN": 309, "HEADS": 5, "Q_RANK": 219, "KV_RANK": 101, "NOPE": 43,
            "ROPE": 22, "VALUE": 37, "MAX_POSITIONS": 207},
}
# Not "scaled": the keys' rotated part is not normalised, and a softmax of large logits only keeps rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


def rotate(x, cos, sin):
    """x: (..., positions, ROPE); cos and sin: (positions, ROPE / 2)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


def norm(width):
    layer = nn.RMSNorm(width, eps=1e-6)
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    return layer


class Model(nn.Module):
    def __init__(self, hidden, heads, q_rank, kv_rank, nope, rope, value, max_positions, theta):
        super().__init__()
        self.heads, self.kv_rank, self.nope, self.rope, self.value = heads, kv_rank, nope, rope, value
        self.q_a_proj = linear(hidden, q_rank)
        self.q_a_layernorm = norm(q_rank)
        self.q_b_proj = linear(q_rank, heads * (nope + rope))
        self.kv_a_proj_with_mqa = linear(hidden, kv_rank + rope)
        self.kv_a_layernorm = norm(kv_rank)
        self.kv_b_proj = linear(kv_rank, heads * (nope + value))
        self.o_proj = linear(heads * value, hidden)
        frequencies = theta ** (-torch.arange(0, rope, 2, dtype=torch.float64) / rope)
        angles = torch.outer(torch.arange(max_positions, dtype=torch.float64), frequencies)
        self.register_buffer("cos", angles.cos().float())
        self.register_buffer("sin", angles.sin().float())

    def forward(self, x):
        length = x.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]

        # (batch, heads, positions, numbers) from here on: positions are next to last, as in cos and sin.
        q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x)))
        q_nope, q_rope = self.by_head(q).split((self.nope, self.rope), dim=-1)
        latent, k_rope = self.kv_a_proj_with_mqa(x).split((self.kv_rank, self.rope), dim=-1)
        kv = self.kv_b_proj(self.kv_a_layernorm(latent))
        k_nope, v = self.by_head(kv).split((self.nope, self.value), dim=-1)
        k_rope = rotate(k_rope, cos, sin).unsqueeze(1).expand(-1, self.heads, -1, -1)

        q = torch.cat((q_nope, rotate(q_rope, cos, sin)), dim=-1)
        k = torch.cat((k_nope, k_rope), dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=(self.nope + self.rope) ** -0.5)
        return self.o_proj(y.transpose(1, 2).flatten(2))

    def by_head(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, HIDDEN)]


def get_init_inputs():
    return [HIDDEN, HEADS, Q_RANK, KV_RANK, NOPE, ROPE, VALUE, MAX_POSITIONS, THETA]
