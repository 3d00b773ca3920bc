"""Causal self-attention with several heads, written out step by step.

For each head, with D = EMBEDDING / HEADS, and t, s positions in the sequence:

    q, k, v = the three thirds of x W_attn^T + b_attn, cut into heads
    a[t, s] = softmax over s <= t of ( q[t] . k[s] / sqrt(D) )
    y       = (a v, heads joined again) W_proj^T + b_proj

Input: x, (BATCH, SEQUENCE, EMBEDDING). Output: y, the same shape. The buffer `bias` is the causal mask,
(1, 1, MAX_SEQUENCE, MAX_SEQUENCE), 1 where a position may look and 0 where it may not.
"""
import math

import torch
import torch.nn as nn

BATCH = 128
SEQUENCE = 512
EMBEDDING = 768
HEADS = 8
MAX_SEQUENCE = 1024
DROPOUT = 0.0

FAMILY = "attention"
SIZES = {
    "small": {"BATCH": 4, "SEQUENCE": 256, "EMBEDDING": 256, "MAX_SEQUENCE": 512},
    "odd": {"BATCH": 3, "SEQUENCE": 317, "EMBEDDING": 245, "HEADS": 7, "MAX_SEQUENCE": 421},
}
# Not "scaled": the logits grow with the square of the input, and softmax then only keeps their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(attn_pdrop)
        self.resid_dropout = nn.Dropout(resid_pdrop)
        mask = torch.tril(torch.ones(max_seqlen, max_seqlen))
        self.register_buffer("bias", mask.view(1, 1, max_seqlen, max_seqlen))

    def forward(self, x):
        batch, length, width = x.shape
        heads = (batch, length, self.n_head, width // self.n_head)
        q, k, v = (part.view(heads).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))

        logits = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        logits = logits.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        weights = self.attn_dropout(torch.softmax(logits, dim=-1))

        y = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.resid_dropout(self.c_proj(y))


def get_inputs():
    return [torch.rand(BATCH, SEQUENCE, EMBEDDING)]


def get_init_inputs():
    return [EMBEDDING, HEADS, DROPOUT, DROPOUT, MAX_SEQUENCE]
