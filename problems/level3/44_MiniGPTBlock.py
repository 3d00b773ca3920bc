"""Transformer block of a small GPT, with causal attention and a two-layer network, each added to its input.

    x = x + attention(norm1(x))
    y = x + gelu( norm2(x) W_fc^T + b_fc ) W_proj^T + b_proj
    gelu(u) = u / 2 * ( 1 + tanh( sqrt(2 / pi) * (u + 0.044715 * u^3) ) )

For each head of attention, with D = EMBEDDING / HEADS and t, s positions in the sequence:

    q, k, v = the three thirds of z W_attn^T + b_attn, cut into heads
    a[t, s] = softmax over s <= t of ( q[t] . k[s] / sqrt(D) )
    result  = (a v, heads joined again) W_out^T + b_out

W_fc has 4 * EMBEDDING rows; norm is layer normalisation, eps 1e-5. The buffer `attn.bias` is the causal mask,
(1, 1, MAX_SEQUENCE, MAX_SEQUENCE), 1 where a position may look and 0 where it may not.

Input: x, (BATCH, SEQUENCE, EMBEDDING). Output: y, the same shape.
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

FAMILY = "transformer"
SIZES = {
    "small": {"BATCH": 4, "SEQUENCE": 128, "EMBEDDING": 256, "MAX_SEQUENCE": 256},
    "odd": {"BATCH": 3, "SEQUENCE": 157, "EMBEDDING": 217, "HEADS": 7, "MAX_SEQUENCE": 211},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


def gelu(u):
    return 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u.pow(3))))


class CausalAttention(nn.Module):
    def __init__(self, width, heads, attention_dropout, output_dropout, longest):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.attn_dropout = nn.Dropout(attention_dropout)
        self.resid_dropout = nn.Dropout(output_dropout)
        self.register_buffer("bias", torch.ones(longest, longest).tril()[None, None])

    def forward(self, x):
        length = x.size(1)
        q, k, v = (third.unflatten(2, (self.heads, -1)).transpose(1, 2) for third in self.c_attn(x).chunk(3, dim=2))
        logits = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.size(-1)))
        logits = logits.masked_fill(self.bias[:, :, :length, :length] == 0, -math.inf)
        y = self.attn_dropout(torch.softmax(logits, dim=-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).flatten(2)))


class Mlp(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(gelu(self.c_fc(x))))


class Model(nn.Module):
    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalAttention(n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = Mlp(n_embd, resid_pdrop)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


def get_inputs():
    return [torch.rand(BATCH, SEQUENCE, EMBEDDING)]


def get_init_inputs():
    return [EMBEDDING, HEADS, DROPOUT, DROPOUT, MAX_SEQUENCE]
