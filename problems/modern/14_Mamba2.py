"""Language model of Mamba-2 layers (the widths of mamba2-1.3b): state spaces with one rate of forgetting for each head.

norm(z) = z / sqrt(mean of z^2 + 1e-5) * gain. The model, with E the embedding and u[t] the vector at position t:

    u[t]      = E[tokens[t]];  LAYERS times: u = u + mixer(norm(u));  logits[t] = E norm(u[t])

The mixer, for the vector z[t] and, from x on, for each of HEADS heads h:

    g, p, dt  = W_in z[t]                        cut into HEADS * HEAD, HEADS * HEAD + 2 * STATE and HEADS numbers
    x, B, C   = silu( sum over j < TAPS of w[j] * p[t - TAPS + 1 + j] + b )     channel by channel, 0 before the start;
                                                 cut into HEADS * HEAD, STATE and STATE; B and C serve all heads
    step      = softplus(dt + dt_bias)
    S[t]      = exp(-exp(A_log) * step) S[t - 1] + step * B[t] x[t]^T,  S[-1] = 0             (STATE, HEAD)
    y[t]      = S[t]^T C[t] + D * x[t]
    result    = W_out norm( y * silu(g), heads joined )

In chunks of CHUNK positions, with a[t] the sum of -exp(A_log) * step from the chunk's first position to t, e its last
position, and S the state before the chunk:

    S[t]^T C[t] = sum over s <= t of exp(a[t] - a[s]) (C[t] . B[s]) step[s] x[s]  +  exp(a[t]) S^T C[t]
    S[e]        = exp(a[e]) S + sum over s of exp(a[e] - a[s]) step[s] B[s] x[s]^T

Input: tokens, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY). Only the
filter (`conv1d`) has a bias. The recurrence, from step to y, is computed in fp32, whatever the model's precision.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
SEQUENCE = 128
VOCABULARY = 50288
LAYERS = 12
WIDTH = 2048
HEADS = 64
HEAD = 64
STATE = 128
TAPS = 4
CHUNK = 64

FAMILY = "state space"
SIZES = {
    "small": {"SEQUENCE": 160, "VOCABULARY": 1000, "LAYERS": 2, "WIDTH": 192, "HEADS": 6, "STATE": 64},
    "odd": {"BATCH": 3, "SEQUENCE": 109, "VOCABULARY": 1013, "LAYERS": 3, "WIDTH": 147, "HEADS": 5, "HEAD": 43,
            "STATE": 37, "TAPS": 3},
}
DISTRIBUTIONS = ()


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


def norm(width):
    layer = nn.RMSNorm(width, eps=1e-5)
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    return layer


def state_space(x, log_decay, b, c):
    """S[t]^T C[t] of all positions: x, (batch, heads, time, HEAD), holds the steps; log_decay: (batch, heads, time, 1);
    b and c: (batch, 1, time, STATE)."""
    length = x.shape[2]
    x, log_decay, b, c = (F.pad(z, (0, 0, 0, -length % CHUNK)).unflatten(2, (-1, CHUNK)) for z in (x, log_decay, b, c))
    total = log_decay.cumsum(dim=-2)
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=x.device).triu(1)
    decay = (total - total.mT).masked_fill(later, -math.inf).exp()  # [t, s]: what is left at t of position s

    within = (c @ b.mT * decay) @ x
    end = total[..., -1:, :]
    own = b.mT @ (x * (end - total).exp())
    state = torch.zeros_like(own[:, :, 0])
    outputs = []
    for chunk in range(x.shape[2]):
        outputs.append(within[:, :, chunk] + total[:, :, chunk].exp() * (c[:, :, chunk] @ state))
        state = end[:, :, chunk].exp() * state + own[:, :, chunk]
    return torch.cat(outputs, dim=2)[:, :, :length]


class Mixer(nn.Module):
    def __init__(self, width, heads, head, state, taps):
        super().__init__()
        self.heads, inner, filtered = heads, heads * head, heads * head + 2 * state
        self.parts, self.filtered_parts = (inner, filtered, heads), (inner, state, state)
        self.in_proj = linear(width, inner + filtered + heads)
        self.conv1d = nn.Conv1d(filtered, filtered, taps, padding=taps - 1, groups=filtered)
        step = torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)).exp()
        self.dt_bias = nn.Parameter(step.expm1().log())  # softplus of it is `step`
        self.A_log = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        self.D = nn.Parameter(torch.empty(heads).uniform_(0.5, 1.5))
        self.norm = norm(inner)
        self.out_proj = linear(inner, width)

    def forward(self, z):
        gate, filtered, step = self.in_proj(z).split(self.parts, dim=-1)
        filtered = F.silu(self.conv1d(filtered.mT)[:, :, :z.shape[1]].mT)
        wide = torch.promote_types(z.dtype, torch.float32)
        x, b, c = filtered.to(wide).split(self.filtered_parts, dim=-1)

        # (batch, heads, time, numbers) from here on
        x = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        step = F.softplus(step.to(wide) + self.dt_bias.to(wide)).mT.unsqueeze(-1)
        rate, direct = -self.A_log.to(wide).exp().view(-1, 1, 1), self.D.to(wide).view(-1, 1, 1)
        y = state_space(step * x, rate * step, b.unsqueeze(1), c.unsqueeze(1)) + direct * x

        y = y.transpose(1, 2).flatten(2).to(z.dtype)
        return self.out_proj(self.norm(y * F.silu(gate)))


class Model(nn.Module):
    def __init__(self, vocabulary, layers, width, heads, head, state, taps):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.norms = nn.ModuleList(norm(width) for _ in range(layers))
        self.mixers = nn.ModuleList(Mixer(width, heads, head, state, taps) for _ in range(layers))
        self.norm_out = norm(width)

    def forward(self, tokens):
        u = self.embedding(tokens)
        for layer_norm, mixer in zip(self.norms, self.mixers):
            u = u + mixer(layer_norm(u))
        return F.linear(self.norm_out(u), self.embedding.weight)


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, LAYERS, WIDTH, HEADS, HEAD, STATE, TAPS]
