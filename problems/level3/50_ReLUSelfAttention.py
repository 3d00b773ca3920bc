"""Causal self-attention with several heads and a relu in place of the softmax.

For each head, with D = EMBEDDING / HEADS, and t, s positions in the sequence:

    q, k, v = the three thirds of x W_attn^T + b_attn, cut into heads
    a[t, s] = max(0, q[t] . k[s] / sqrt(D))     for s <= t, else 0
    y       = a v, heads joined again

The weights of a position are not divided by their sum, and `c_proj` is held but not used. The buffer `bias` is the
causal mask, (1, 1, MAX_SEQUENCE, MAX_SEQUENCE), 1 where a position may look and 0 where it may not.

Input: x, (BATCH, SEQUENCE, EMBEDDING). Output: y, the same shape.
"""
import math

import torch
import torch.nn as nn

BATCH = 16
SEQUENCE = 1024
EMBEDDING = 768
HEADS = 12
MAX_SEQUENCE = 1024

FAMILY = "attention"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 256, "EMBEDDING": 192, "HEADS": 6, "MAX_SEQUENCE": 256},
    "odd": {"BATCH": 3, "SEQUENCE": 197, "EMBEDDING": 189, "HEADS": 7, "MAX_SEQUENCE": 241},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, n_embd, n_head, max_seqlen):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("bias", torch.ones(max_seqlen, max_seqlen).tril()[None, None])

    def forward(self, x):
        length = x.size(1)
        q, k, v = (third.unflatten(2, (self.n_head, -1)).transpose(1, 2) for third in self.c_attn(x).chunk(3, dim=2))
        logits = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.size(-1)))
        logits = logits.masked_fill(self.bias[:, :, :length, :length] == 0, -math.inf)
        y = torch.relu(logits) @ v
        return y.transpose(1, 2).flatten(2)


def get_inputs():
    return [torch.rand(BATCH, SEQUENCE, EMBEDDING)]


def get_init_inputs():
    return [EMBEDDING, HEADS, MAX_SEQUENCE]
