"""The final state of a state space model of the Mamba-2 kind, computed block by block.

For each sample and head, with x[t] of HEAD numbers, B[t] of STATE numbers, and A[t] a number:

    s[t] = exp(A[t]) * s[t - 1] + x[t] B[t]^T           s[-1] = 0, (HEAD, STATE)
    y    = s[SEQUENCE - 1]

In blocks of BLOCK positions, with S[t] the sum of A from the block's first position to t, and e its last position:

    own  = sum over u in the block of exp(S[e] - S[u]) * x[u] B[u]^T
    s[e] = exp(S[e]) * s before the block + own

A, B and C are parameters drawn from a normal distribution, for each sample, position and head. C, with which outputs
would be read from the states, is not used. A is positive half the time, so states grow, to 1e19 at the standard size:
out of fp16's range, and bf16 cannot hold the exponents well enough.

Input: x, (BATCH, SEQUENCE, HEADS, HEAD), SEQUENCE a multiple of BLOCK. Output: y, (BATCH, HEADS, HEAD, STATE).
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
    "small": {"BATCH": 64, "HEADS": 4, "HEAD": 32, "BLOCK": 32},
    "odd": {"BATCH": 61, "SEQUENCE": 115, "HEADS": 5, "HEAD": 27, "STATE": 17, "BLOCK": 23},
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
        u, a, b = (self.in_blocks(v) for v in (x, self.A, self.B))
        total = a.cumsum(dim=-1)

        own = (u * (total[..., -1:] - total).exp()[..., None]).transpose(-2, -1) @ b
        across = decay(F.pad(total[..., -1], (1, 0)))[..., -1, 1:]
        return (own * across[..., None, None]).sum(dim=2)


def get_inputs():
    return [torch.rand(BATCH, SEQUENCE, HEADS, HEAD)]


def get_init_inputs():
    return [BATCH, SEQUENCE, HEADS, HEAD, STATE, BLOCK]
