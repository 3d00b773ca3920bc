"""Block of a small GPT: causal attention, then a network of two layers, each on a normalised input and added to it.

    h = x + attention(norm1(x))
    y = h + gelu(norm2(h) W_fc^T + b_fc) W_proj^T + b_proj
    gelu(u) = u / 2 * (1 + tanh(sqrt(2 / pi) * (u + 0.044715 * u^3)))

W_fc has 4 * EMBEDDING rows; the norms are layer normalisation, eps 1e-5. For each head of attention, with
D = EMBEDDING / HEADS, and t, s positions in the sequence:

    q, k, v = the three thirds of its input times W_attn^T, plus b_attn, cut into heads
    a[t, s] = softmax over s <= t of ( q[t] . k[s] / sqrt(D) )
    result  = (a v, heads joined again) W_out^T + b_out

The buffer `attn.bias`, (1, 1, MAX_SEQUENCE, MAX_SEQUENCE), is true where position t may look at s: where s <= t.

Input: x, (BATCH, SEQUENCE, EMBEDDING). Output: y, the same shape.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
SEQUENCE = 512
EMBEDDING = 768
HEADS = 8
MAX_SEQUENCE = 1024
DROPOUT = 0.0

FAMILY = "transformer"
SIZES = {
    "small": {"BATCH": 4, "SEQUENCE": 128, "EMBEDDING": 192, "MAX_SEQUENCE": 256},
    "odd": {"BATCH": 3, "SEQUENCE": 157, "EMBEDDING": 203, "HEADS": 7, "MAX_SEQUENCE": 211},
}
# Not "scaled": next to so large an input, what attention and network add to it is within rounding.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class CausalAttention(nn.Module):
    def __init__(self, width, heads, attention_dropout, output_dropout, longest):
        super().__init__()
        self.heads = heads
        self.attention_dropout = attention_dropout
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.output_dropout = nn.Dropout(output_dropout)
        everything = torch.ones(1, 1, longest, longest, dtype=torch.bool)
        self.register_buffer("bias", everything.tril())

    def forward(self, x):
        length = x.size(1)
        thirds = self.c_attn(x).chunk(3, dim=2)
        q, k, v = (third.unflatten(2, (self.heads, -1)).transpose(1, 2) for third in thirds)
        may_look = self.bias[:, :, :length, :length]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=may_look, dropout_p=self.attention_dropout)
        return self.output_dropout(self.c_proj(y.transpose(1, 2).flatten(2)))


class Mlp(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        u = self.c_fc(x)
        return self.dropout(self.c_proj(F.gelu(u, approximate="tanh")))


class Model(nn.Module):
    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalAttention(n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = Mlp(n_embd, resid_pdrop)

    def forward(self, x):
        h = x + self.attn(self.ln_1(x))
        return h + self.mlp(self.ln_2(h))


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, EMBEDDING)]


def get_init_inputs():
    return [EMBEDDING, HEADS, DROPOUT, DROPOUT, MAX_SEQUENCE]
