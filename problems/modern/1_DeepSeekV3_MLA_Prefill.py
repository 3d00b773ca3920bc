"""Multi-head latent attention (MLA) of DeepSeek-V3 over a whole prompt: its output, and what it leaves in the cache.

With x[t] the hidden vector at position t, h one of HEADS, and norm(z) = z / sqrt(mean of z^2 + 1e-6) * gain:

    qn[t, h], qr[t, h]  = W_qb norm(W_qa x[t])        cut into heads; NOPE and ROPE numbers a head
    c[t], kr[t]         = W_kva x[t]                  KV_RANK and ROPE numbers; kr is one for all heads
    latent[t]           = norm(c[t])
    key[t]              = R(t) kr[t]
    kn[t, h], v[t, h]   = W_kvb latent[t]             cut into heads; NOPE and VALUE numbers a head
    a[t, s, h]          = softmax over s <= t of SCALE * (qn[t, h] . kn[s, h] + R(t) qr[t, h] . key[s])
    y[t]                = W_o ( sum over s of a[t, s, h] v[s, h], heads joined )
    SCALE               = (0.1 ln(STRETCH) + 1)^2 / sqrt(NOPE + ROPE)

R(t) turns each pair of neighbours (2i, 2i + 1) by the angle t * f[i], i < ROPE / 2: (p, q) becomes
(p cos - q sin, q cos + p sin). Slow pairs turn STRETCH times slower, for longer texts than were trained on (YaRN):

    f[i] = THETA^(-2i / ROPE) * (1 - u[i] + u[i] / STRETCH),  u[i] = (i - FIRST) / (LAST - FIRST), at least 0, at most 1

where a pair at FIRST, rounded down, makes FAST turns in TRAINED positions, and one at LAST, rounded up, makes SLOW. The
buffers `cos` and `sin`, (MAX_POSITIONS, ROPE / 2), hold all of that for every position.

Input: x, (BATCH, SEQUENCE, HIDDEN). Output: y, the same shape; latent, (BATCH, SEQUENCE, KV_RANK), and key, (BATCH,
SEQUENCE, ROPE): the cache. No layer has a bias. The rows of W_qb (`q_b_proj`) and W_kvb (`kv_b_proj`) are sorted by
head, and within a head by the order above. HIDDEN and HEADS are smaller than published, 7168 and 128.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
SEQUENCE = 1024
HIDDEN = 2048
HEADS = 16
Q_RANK = 1536
KV_RANK = 512
NOPE = 128
ROPE = 64
VALUE = 128
MAX_POSITIONS = 8192
THETA = 10000.0
STRETCH = 40.0
TRAINED = 4096
FAST = 32
SLOW = 1

FAMILY = "attention"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 160, "HIDDEN": 320, "HEADS": 5, "Q_RANK": 240, "KV_RANK": 80, "NOPE": 64,
              "ROPE": 32, "VALUE": 64, "MAX_POSITIONS": 256, "TRAINED": 512, "FAST": 8},
    # ROPE is even: its numbers come in pairs.
    "odd": {"BATCH": 3, "SEQUENCE": 131, "HIDDEN": 277, "HEADS": 5, "Q_RANK": 203, "KV_RANK": 91, "NOPE": 43,
            "ROPE": 22, "VALUE": 37, "MAX_POSITIONS": 157, "TRAINED": 301, "FAST": 7},
}
# Not "scaled": the keys' rotated part is not normalised, and a softmax of large logits only keeps rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


def frequencies(rope, theta, stretch, trained, fast, slow):
    """By which angle each of the ROPE / 2 pairs turns from one position to the next."""
    def pair_with(turns):
        return rope * math.log(trained / (2 * math.pi * turns)) / (2 * math.log(theta))

    first = max(math.floor(pair_with(fast)), 0)
    last = min(math.ceil(pair_with(slow)), rope - 1)
    pairs = torch.arange(rope // 2, dtype=torch.float64)
    slowed = ((pairs - first) / (last - first)).clamp(0, 1)
    return theta ** (-2 * pairs / rope) * (1 - slowed + slowed / stretch)


def rotate(x, cos, sin):
    """x: (..., positions, ROPE); cos and sin: (positions, ROPE / 2)."""
    p, q = x[..., 0::2], x[..., 1::2]
    return torch.stack((p * cos - q * sin, q * cos + p * sin), dim=-1).flatten(-2)


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
    def __init__(self, hidden, heads, q_rank, kv_rank, nope, rope, value, max_positions, theta, stretch, trained, fast,
                 slow):
        super().__init__()
        self.heads, self.kv_rank, self.nope, self.rope, self.value = heads, kv_rank, nope, rope, value
        self.scale = (0.1 * math.log(stretch) + 1) ** 2 / math.sqrt(nope + rope)
        self.q_a_proj = linear(hidden, q_rank)
        self.q_a_layernorm = norm(q_rank)
        self.q_b_proj = linear(q_rank, heads * (nope + rope))
        self.kv_a_proj_with_mqa = linear(hidden, kv_rank + rope)
        self.kv_a_layernorm = norm(kv_rank)
        self.kv_b_proj = linear(kv_rank, heads * (nope + value))
        self.o_proj = linear(heads * value, hidden)
        positions = torch.arange(max_positions, dtype=torch.float64)
        angles = torch.outer(positions, frequencies(rope, theta, stretch, trained, fast, slow))
        self.register_buffer("cos", angles.cos().float())
        self.register_buffer("sin", angles.sin().float())

    def forward(self, x):
        length = x.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]

        q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x)))
        q_nope, q_rope = self.by_head(q).split((self.nope, self.rope), dim=-1)
        latent, key = self.kv_a_proj_with_mqa(x).split((self.kv_rank, self.rope), dim=-1)
        latent, key = self.kv_a_layernorm(latent), rotate(key, cos, sin)
        k_nope, v = self.by_head(self.kv_b_proj(latent)).split((self.nope, self.value), dim=-1)

        q = torch.cat((q_nope, rotate(q_rope, cos, sin)), dim=-1)
        k = torch.cat((k_nope, key.unsqueeze(1).expand(-1, self.heads, -1, -1)), dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
        return self.o_proj(y.transpose(1, 2).flatten(2)), latent, key

    def by_head(self, x):
        """(batch, positions, numbers) to (batch, heads, positions, numbers of a head)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, HIDDEN)]


def get_init_inputs():
    return [HIDDEN, HEADS, Q_RANK, KV_RANK, NOPE, ROPE, VALUE, MAX_POSITIONS, THETA, STRETCH, TRAINED, FAST, SLOW]
