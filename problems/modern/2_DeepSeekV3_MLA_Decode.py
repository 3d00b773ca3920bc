"""Multi-head latent attention (MLA) of DeepSeek-V3 for one new position after a cache of CACHE positions.

With x the hidden vector at the new position, t = CACHE, h one of HEADS, norm(z) = z / sqrt(mean of z^2 + 1e-6) * gain:

    qn[h], qr[h]          = W_qb norm(W_qa x)         cut into heads; NOPE and ROPE numbers a head
    c, kr                 = W_kva x                   KV_RANK and ROPE numbers; kr is one for all heads
    latent[t], key[t]     = norm(c), R(t) kr          the new entry of the cache
    kn[s, h], v[s, h]     = W_kvb latent[s]           cut into heads; NOPE and VALUE numbers a head
    a[s, h]               = softmax over s <= t of SCALE * (qn[h] . kn[s, h] + R(t) qr[h] . key[s])
    y                     = W_o ( sum over s of a[s, h] v[s, h], heads joined )
    SCALE                 = (0.1 ln(STRETCH) + 1)^2 / sqrt(NOPE + ROPE)

Keys and values of all positions are more work than the same in another order. With Wk[h] and Wv[h] the rows of W_kvb
that give kn[., h] and v[., h],

    qn[h] . kn[s, h]              = (Wk[h]^T qn[h]) . latent[s]
    sum over s of a[s, h] v[s, h] = Wv[h] (sum over s of a[s, h] latent[s])

R(t) turns each pair of neighbours (2i, 2i + 1) by the angle t * f[i], i < ROPE / 2: (p, q) becomes
(p cos - q sin, q cos + p sin). Slow pairs turn STRETCH times slower, for longer texts than were trained on (YaRN):

    f[i] = THETA^(-2i / ROPE) * (1 - u[i] + u[i] / STRETCH),  u[i] = (i - FIRST) / (LAST - FIRST), at least 0, at most 1

where a pair at FIRST, rounded down, makes FAST turns in TRAINED positions, and one at LAST, rounded up, makes SLOW. The
buffers `cos` and `sin`, (MAX_POSITIONS, ROPE / 2), hold all of that for every position.

Inputs: x, (BATCH, 1, HIDDEN), and the cache: latent, (BATCH, CACHE, KV_RANK), and key, (BATCH, CACHE, ROPE), turned
already. Output: y, (BATCH, 1, HIDDEN), and the cache's new entry: (BATCH, 1, KV_RANK) and (BATCH, 1, ROPE). No layer
has a bias. The rows of W_qb (`q_b_proj`) and W_kvb (`kv_b_proj`) are sorted by head, and within a head by the order
above. HIDDEN and HEADS are smaller than published, 7168 and 128.
"""
import math

import torch
import torch.nn as nn

BATCH = 2
CACHE = 4096
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
    "small": {"CACHE": 1024, "HIDDEN": 512, "HEADS": 8, "Q_RANK": 384, "KV_RANK": 128, "NOPE": 64, "ROPE": 32,
              "VALUE": 64, "MAX_POSITIONS": 1280, "TRAINED": 512, "FAST": 8},
    # ROPE is even: its numbers come in pairs.
    "odd": {"BATCH": 3, "CACHE": 1013, "HIDDEN": 437, "HEADS": 7, "Q_RANK": 331, "KV_RANK": 133, "NOPE": 59,
            "ROPE": 22, "VALUE": 53, "MAX_POSITIONS": 1171, "TRAINED": 301, "FAST": 7},
}
# Not "scaled": the cached keys are used as they are, and a softmax of large logits only keeps rounding errors.
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
    """x: (..., ROPE); cos and sin: (ROPE / 2)."""
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

    def forward(self, x, latent_cache, key_cache):
        cached = latent_cache.shape[1]
        cos, sin = self.cos[cached], self.sin[cached]
        w_key, w_value = self.kv_b_proj.weight.unflatten(0, (self.heads, -1)).split((self.nope, self.value), dim=1)

        latent, key = self.kv_a_proj_with_mqa(x).split((self.kv_rank, self.rope), dim=-1)
        latent, key = self.kv_a_layernorm(latent), rotate(key, cos, sin)
        q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x))).view(len(x), self.heads, -1)
        q_nope, q_rope = q.split((self.nope, self.rope), dim=-1)
        q_latent = torch.einsum("bhn,hnr->bhr", q_nope, w_key)
        q_rope = rotate(q_rope, cos, sin)

        # (batch, heads, positions): the cached ones and the new one.
        logits = torch.cat((
            q_latent @ latent_cache.transpose(1, 2) + q_rope @ key_cache.transpose(1, 2),
            q_latent @ latent.transpose(1, 2) + q_rope @ key.transpose(1, 2),
        ), dim=-1)
        of_cache, of_new = torch.softmax(self.scale * logits, dim=-1).split((cached, 1), dim=-1)
        mixed = of_cache @ latent_cache + of_new @ latent
        y = torch.einsum("bhr,hvr->bhv", mixed, w_value)
        return self.o_proj(y.flatten(1).unsqueeze(1)), latent, key


def get_inputs():
    return [torch.randn(BATCH, 1, HIDDEN), torch.randn(BATCH, CACHE, KV_RANK), torch.randn(BATCH, CACHE, ROPE)]


def get_init_inputs():
    return [HIDDEN, HEADS, Q_RANK, KV_RANK, NOPE, ROPE, VALUE, MAX_POSITIONS, THETA, STRETCH, TRAINED, FAST, SLOW]
