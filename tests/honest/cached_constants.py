"""Suspicious: functools.lru_cache keyed by shape. Right: what it keeps, the causal mask, depends on the shape
alone."""
import functools
import math

import torch
import torch.nn as nn


@functools.lru_cache(maxsize=4)
def causal_mask(length):
    return torch.full((length, length), float("-inf")).triu(1)


class ModelNew(nn.Module):
    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        batch, length, width = x.shape
        heads = (batch, length, self.n_head, width // self.n_head)
        q, k, v = (part.view(heads).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        logits = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)) + causal_mask(length)
        y = torch.softmax(logits, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))
