"""The outputs of a state space model of the Mamba-2 kind, computed block by block.

For each sample and head, with x[t] of HEAD numbers, B[t] and C[t] of STATE numbers, and A[t] a number:

    s[t] = exp(A[t]) * s[t - 1] + x[t] B[t]^T           s[-1] = 0, (HEAD, STATE)
    y[t] = s[t] C[t]

In blocks of BLOCK positions, with S[t] the sum of A from the block's first position to t, and e its last position:

    inside[t] = sum over u <= t in the block of exp(S[t] - S[u]) * (C[t] . B[u]) * x[u]
    own       = sum over u in the block of exp(S[e] - S[u]) * x[u] B[u]^T
    s[e]      = exp(S[e]) * s before the block + own
    y[t]      = inside[t] + exp(S[t]) * (s before the block) C[t]

A, B and C are parameters drawn from a normal distribution, for each sample, position and head. A is positive half the
time, so states grow, to 1e20 at the standard size: out of fp16's range, and bf16 cannot hold the exponents well enough.

Input: x, (BATCH, SEQUENCE, HEADS, HEAD), SEQUENCE a multiple of BLOCK. Output: y, the same shape.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2048
SEQUENCE = 128
HEADS = 8
HEAD = 64
STATE = 16
BLOCK = 64

FAMILY = "state space"
PRECISIONS = ("fp32",)
SIZES = {
    "small": {"BATCH": 32, "SEQUENCE": 64, "HEADS": 4, "HEAD": 32, "BLOCK": 32},
    "odd": {"BATCH": 29, "SEQUENCE": 69, "HEADS": 5, "HEAD": 27, "STATE": 17, "BLOCK": 23},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


def decay(a):
    """(..., T) to (..., T, T): exp(a[u + 1] + ... + a[t]) at [t, u] where u <= t, else 0."""
    total = a.cumsum(dim=-1)
    exponent = total[..., :, None] - total[..., None, :]
    ahead = torch.ones(exponent.shape[-2:], dtype=torch.bool, device=a.device).triu(1)
    return exponent.masked_fill(ahead, -math.inf).exp()


class Model(nn.Module):
    def __init__(self, batch_size, seq_length, n_heads, d_head, d_state, block_len):
        super().__init__()
        self.block_len = block_len
        self.A = nn.Parameter(torch.randn(batch_size, seq_length, n_heads))
        self.B = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))
        self.C = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))

    def in_blocks(self, v):
        """(sample, position, head, ...) to (sample, head, block, position in it, ...)."""
        return v.unflatten(1, (-1, self.block_len)).movedim(3, 1)

    def forward(self, x):
        u, a, b, c = (self.in_blocks(v) for v in (x, self.A, self.B, self.C))
        total = a.cumsum(dim=-1)

        inside = (c @ b.transpose(-2, -1) * decay(a)) @ u
        own = (u * (total[..., -1:] - total).exp()[..., None]).transpose(-2, -1) @ b
        across = decay(F.pad(total[..., -1], (1, 0)))[..., :-1, 1:]
        before = (across @ own.flatten(-2)).view(own.shape)
        carried = (c * total.exp()[..., None]) @ before.transpose(-2, -1)
        return (inside + carried).movedim(1, 3).flatten(1, 2)


def get_inputs():
    return [torch.rand(BATCH, SEQUENCE, HEADS, HEAD)]


def get_init_inputs():
    return [BATCH, SEQUENCE, HEADS, HEAD, STATE, BLOCK]
