"""Language model of RWKV-6 layers (widths of the 1.6-billion model): a recurrence with a bonus for the present step.

prev(z)[t] = z[t - 1], 0 before the start; norm is layer normalisation, eps 1e-5. The model, with u[t] at position t:

    u = norm(E[tokens]);  LAYERS times: u = u + time(norm(u)), u = u + channel(norm(u));  logits = W_head norm(u)

Channel mixing, FFN numbers wide inside, with products of vectors taken element by element:

    zk, zr  = z + (prev(z) - z) * m_k,  z + (prev(z) - z) * m_r
    result  = sigmoid(W_r zr) * W_v ( max(W_k zk, 0)^2 )

Time mixing. For each i of r, k, v, w, g, with two low-rank layers of MIX_RANK and DECAY_RANK numbers:

    z_i     = z + (prev(z) - z) * ( m_i + U_i tanh(L_i (z + (prev(z) - z) * m)) )
    r, k, v = W_r z_r, W_k z_k, W_v z_v
    w       = exp(-exp( decay + W_up tanh(W_down z_w) ))                    how much each channel keeps, between 0 and 1
    for each head, of HEAD channels:
    o[t]    = ( S[t - 1] + diag(bonus * k[t]) 1 v[t]^T )^T r[t]
    S[t]    = diag(w[t]) S[t - 1] + k[t] v[t]^T,  S[-1] = 0                 (HEAD of k, HEAD of v)
    result  = W_o ( groupnorm(o) * silu(W_g z_g) )                          a group is a head, eps 64e-5

1 v[t]^T has v[t] in every row. In chunks of CHUNK positions, with a[t] the sum of log w from the chunk's first position
to t, e its last position, S the state before the chunk, and sums over c of a head's channels:

    o[t] = sum over s < t of ( sum over c of r[t] exp(a[t - 1] - a[s]) k[s] ) v[s]  +  (r[t] . (bonus * k[t])) v[t]
           + S^T (r[t] * exp(a[t - 1]))
    S[e] = diag(exp(a[e])) S + sum over s of (exp(a[e] - a[s]) * k[s]) v[s]^T

Every exponent is negative or 0; a form that divides by exp(a[s]) overflows where a channel forgets fast.

Input: tokens, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY). No linear
layer has a bias. The recurrence, from w to o, is computed in fp32, whatever the model's precision. `mix` of the time
mixing holds m_r, m_k, m_v, m_w, m_g in this order, `mix_up` the U_i^T, `mix_down` the L_i one below the other.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
SEQUENCE = 128
VOCABULARY = 65536
LAYERS = 6
HEADS = 32
HEAD = 64
FFN = 7168
MIX_RANK = 32
DECAY_RANK = 64
CHUNK = 16

FAMILY = "recurrent"
SIZES = {
    "small": {"VOCABULARY": 1000, "LAYERS": 2, "HEADS": 3, "FFN": 672, "MIX_RANK": 16, "DECAY_RANK": 24},
    "odd": {"BATCH": 3, "SEQUENCE": 83, "VOCABULARY": 1013, "LAYERS": 3, "HEADS": 3, "HEAD": 45, "FFN": 471,
            "MIX_RANK": 13, "DECAY_RANK": 21},
}
DISTRIBUTIONS = ()


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


def norm(layer):
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    nn.init.normal_(layer.bias, std=0.2)
    return layer


def step_back(z):
    """What to add to z, (batch, time, width), to have z one step earlier."""
    return F.pad(z, (0, 0, 1, -1)) - z


def recurrence(r, k, v, log_w, bonus):
    """o of all positions. r, k, v, log_w: (batch, heads, time, HEAD); bonus: (heads, 1, HEAD)."""
    length = r.shape[2]
    now = (r * bonus * k).sum(dim=-1, keepdim=True) * v
    r, k, v, log_w = (F.pad(z, (0, 0, 0, -length % CHUNK)).unflatten(2, (-1, CHUNK)) for z in (r, k, v, log_w))
    total = log_w.cumsum(dim=-2)
    before = total - log_w  # a[t - 1]
    not_earlier = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=r.device).triu().unsqueeze(-1)
    decay = (before.unsqueeze(-2) - total.unsqueeze(-3)).masked_fill(not_earlier, -math.inf).exp()  # [t, s, channel]
    within = ((decay * k.unsqueeze(-3)) @ r.unsqueeze(-1)).squeeze(-1) @ v

    from_start = r * before.exp()
    end = total[..., -1:, :]
    own = (k * (end - total).exp()).mT @ v
    state = torch.zeros_like(own[:, :, 0])
    outputs = []
    for chunk in range(r.shape[2]):
        outputs.append(within[:, :, chunk] + from_start[:, :, chunk] @ state)
        state = end[:, :, chunk].mT.exp() * state + own[:, :, chunk]
    return torch.cat(outputs, dim=2)[:, :, :length] + now


class TimeMixing(nn.Module):
    def __init__(self, heads, head, mix_rank, decay_rank):
        super().__init__()
        width = heads * head
        self.heads = heads
        self.mix_all, self.mix = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(5, width))
        self.mix_down = linear(width, 5 * mix_rank)
        self.mix_up = nn.Parameter(torch.randn(5, mix_rank, width) * 0.3 * mix_rank**-0.5)
        self.receptance, self.key, self.value, self.gate = (linear(width, width) for _ in range(4))
        self.decay = nn.Parameter(torch.empty(width).uniform_(-6, 0))
        self.decay_down, self.decay_up = linear(width, decay_rank), linear(decay_rank, width)
        self.bonus = nn.Parameter(torch.randn(heads, head))
        self.head_norm = norm(nn.GroupNorm(heads, width, eps=64e-5))
        self.output = linear(width, width)

    def forward(self, z):
        back = step_back(z)
        low = torch.tanh(self.mix_down(z + back * self.mix_all)).unflatten(-1, (5, -1))
        shares = self.mix + torch.einsum("btid,idc->btic", low, self.mix_up)
        z_r, z_k, z_v, z_w, z_g = (z.unsqueeze(2) + back.unsqueeze(2) * shares).unbind(2)

        wide = torch.promote_types(z.dtype, torch.float32)
        r, k, v = (self.by_head(part.to(wide)) for part in (self.receptance(z_r), self.key(z_k), self.value(z_v)))
        fading = self.decay + self.decay_up(torch.tanh(self.decay_down(z_w)))
        log_w = self.by_head(-fading.to(wide).exp())
        o = recurrence(r, k, v, log_w, self.bonus.to(wide).unsqueeze(1))

        o = o.transpose(1, 2).flatten(2).to(z.dtype)
        o = self.head_norm(o.flatten(0, 1)).view_as(z)
        return self.output(o * F.silu(self.gate(z_g)))

    def by_head(self, z):
        return z.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class ChannelMixing(nn.Module):
    def __init__(self, width, ffn):
        super().__init__()
        self.mix_k, self.mix_r = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width))
        self.key, self.receptance, self.value = linear(width, ffn), linear(width, width), linear(ffn, width)

    def forward(self, z):
        back = step_back(z)
        inner = F.relu(self.key(z + back * self.mix_k)).square()
        return torch.sigmoid(self.receptance(z + back * self.mix_r)) * self.value(inner)


class Layer(nn.Module):
    def __init__(self, heads, head, ffn, mix_rank, decay_rank):
        super().__init__()
        width = heads * head
        self.time_norm, self.time = norm(nn.LayerNorm(width)), TimeMixing(heads, head, mix_rank, decay_rank)
        self.channel_norm, self.channel = norm(nn.LayerNorm(width)), ChannelMixing(width, ffn)

    def forward(self, u):
        u = u + self.time(self.time_norm(u))
        return u + self.channel(self.channel_norm(u))


class Model(nn.Module):
    def __init__(self, vocabulary, layers, heads, head, ffn, mix_rank, decay_rank):
        super().__init__()
        width = heads * head
        self.embedding, self.norm_in = nn.Embedding(vocabulary, width), norm(nn.LayerNorm(width))
        self.layers = nn.Sequential(*(Layer(heads, head, ffn, mix_rank, decay_rank) for _ in range(layers)))
        self.norm_out, self.head = norm(nn.LayerNorm(width)), linear(width, vocabulary)

    def forward(self, tokens):
        u = self.layers(self.norm_in(self.embedding(tokens)))
        return self.head(self.norm_out(u))


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, LAYERS, HEADS, HEAD, FFN, MIX_RANK, DECAY_RANK]
