"""Gated DeltaNet layer: a linear recurrence whose state forgets, and corrects what it holds under each new key.

With x[t] the hidden vector at step t, h one of HEADS, and everything below for each h alone:

    p[t]     = one of W_q x[t], W_k x[t], W_v x[t]
    c[t]     = silu( sum over j < TAPS of w[j] * p[t - TAPS + 1 + j] )       channel by channel, 0 before the first step
    q, k, v  = c of these three, cut into heads; q and k divided by sqrt(sum of squares + 1e-6), q also by sqrt(KEY)
    alpha[t] = exp(-exp(A_log) * softplus(W_a x[t] + dt_bias)),  beta[t] = sigmoid(W_b x[t])        a number for each h
    S[t]     = alpha[t] (I - beta[t] k[t] k[t]^T) S[t - 1] + beta[t] k[t] v[t]^T,  S[-1] = 0       (KEY, VALUE)
    o[t]     = S[t]^T q[t]
    y[t]     = W_o ( o[t] / sqrt(mean of o[t]^2 + 1e-6) * gain * silu(W_g x[t]), heads joined )

Input: x, (BATCH, SEQUENCE, HIDDEN). Output: y, the same shape. No layer has a bias but dt_bias, (HEADS,) as A_log is;
w is `q_conv1d.weight` and so on, gain is `o_norm.weight`, (VALUE,). What follows the projections and the filters, up
to o, is computed in fp32, whatever the precision of x. All tensors there are laid out (batch, heads, time, numbers).

The recurrence runs in chunks of CHUNK steps. With u[t] = beta[t] (v[t] - alpha[t] S[t - 1]^T k[t]) the update reads
S[t] = alpha[t] S[t - 1] + k[t] u[t]^T; so the u of a chunk solve one triangular system, given the state before it.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQUENCE = 2048
HIDDEN = 2048
HEADS = 16
KEY = 128
VALUE = 128
TAPS = 4
CHUNK = 64

FAMILY = "recurrent"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 192, "HIDDEN": 192, "HEADS": 3, "KEY": 64, "VALUE": 64},
    "odd": {"BATCH": 3, "SEQUENCE": 157, "HIDDEN": 149, "HEADS": 3, "KEY": 45, "VALUE": 53},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


class CausalConv(nn.Conv1d):
    """One filter for each channel, over a step and those before it, of (batch, time, channels)."""

    def __init__(self, channels, taps):
        super().__init__(channels, channels, taps, padding=taps - 1, groups=channels, bias=False)

    def forward(self, x):
        return super().forward(x.mT)[:, :, :x.shape[1]].mT


def gated_delta_rule(q, k, v, log_alpha, beta):
    """o of all steps. q, k: (batch, heads, time, KEY); v: (..., VALUE); log_alpha, beta: (batch, heads, time, 1)."""
    length = q.shape[2]
    q, k, v, log_alpha, beta = (F.pad(z, (0, 0, 0, -length % CHUNK)).unflatten(2, (-1, CHUNK))
                                for z in (q, k, v, log_alpha, beta))
    total = log_alpha.cumsum(dim=-2)  # from the beginning of the chunk to the end of each step
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).triu(1)
    decay = (total - total.mT).masked_fill(later, -math.inf).exp()  # [t, s]: what step t still sees of step s

    # u = own - borrowed S, with S the state before the chunk.
    system = (beta * k) @ k.mT * decay
    sides = torch.cat((beta * v, beta * k * total.exp()), dim=-1)
    solved = torch.linalg.solve_triangular(system.tril(-1), sides, upper=False, unitriangular=True)
    own, borrowed = solved.split((v.shape[-1], k.shape[-1]), dim=-1)

    within = q @ k.mT * decay
    from_start = q * total.exp()
    end = total[..., -1:, :]
    to_end = k * (end - total).exp()
    state = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    outputs = []
    for c in range(q.shape[2]):
        u = own[:, :, c] - borrowed[:, :, c] @ state
        outputs.append(from_start[:, :, c] @ state + within[:, :, c] @ u)
        state = end[:, :, c].exp() * state + to_end[:, :, c].mT @ u
    return torch.cat(outputs, dim=2)[:, :, :length]


class Model(nn.Module):
    def __init__(self, hidden, heads, key, value, taps):
        super().__init__()
        self.heads = heads
        self.q_proj, self.q_conv1d = linear(hidden, heads * key), CausalConv(heads * key, taps)
        self.k_proj, self.k_conv1d = linear(hidden, heads * key), CausalConv(heads * key, taps)
        self.v_proj, self.v_conv1d = linear(hidden, heads * value), CausalConv(heads * value, taps)
        self.a_proj, self.b_proj = linear(hidden, heads), linear(hidden, heads)
        self.A_log = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        step = torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)).exp()
        self.dt_bias = nn.Parameter(step.expm1().log())  # softplus of it is `step`
        self.g_proj = linear(hidden, heads * value)
        self.o_norm = nn.RMSNorm(value, eps=1e-6)
        nn.init.uniform_(self.o_norm.weight, 0.5, 1.5)
        self.o_proj = linear(heads * value, hidden)

    def forward(self, x):
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (self.by_head(F.silu(conv(project(x)))).to(wide) for project, conv in (
            (self.q_proj, self.q_conv1d), (self.k_proj, self.k_conv1d), (self.v_proj, self.v_conv1d)))
        q, k = (z * torch.rsqrt(z.square().sum(dim=-1, keepdim=True) + 1e-6) for z in (q, k))
        q = q * q.shape[-1] ** -0.5
        step = F.softplus(self.a_proj(x).to(wide) + self.dt_bias.to(wide))
        log_alpha = self.by_head(-self.A_log.to(wide).exp() * step)
        beta = self.by_head(torch.sigmoid(self.b_proj(x).to(wide)))

        o = gated_delta_rule(q, k, v, log_alpha, beta).to(x.dtype)
        o = self.o_norm(o) * self.by_head(F.silu(self.g_proj(x)))
        return self.o_proj(o.transpose(1, 2).flatten(2))

    def by_head(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, HIDDEN)]


def get_init_inputs():
    return [HIDDEN, HEADS, KEY, VALUE, TAPS]
