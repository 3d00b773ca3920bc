"""Self-attention with several heads, in which no position looks at a later one.

For each head, with D = EMBEDDING / HEADS, and t, s positions in the sequence:

    q, k, v = the three thirds of x W_attn^T + b_attn, cut into heads
    a[t, s] = softmax over s <= t of ( q[t] . k[s] / sqrt(D) )
    y       = (a v, heads joined again) W_proj^T + b_proj

The buffer `bias`, (1, 1, MAX_SEQUENCE, MAX_SEQUENCE), is true where position t may look at s: where s <= t.

Input: x, (BATCH, SEQUENCE, EMBEDDING). Output: y, the same shape.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
SEQUENCE = 512
EMBEDDING = 768
HEADS = 8
MAX_SEQUENCE = 1024
DROPOUT = 0.0

FAMILY = "attention"
SIZES = {
    "small": {"BATCH": 8, "SEQUENCE": 128, "EMBEDDING": 256, "MAX_SEQUENCE": 256},
    "odd": {"BATCH": 7, "SEQUENCE": 157, "EMBEDDING": 245, "HEADS": 7, "MAX_SEQUENCE": 211},
}
# Not "scaled": the logits grow with the square of the input, and their softmax keeps only rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        self.heads = n_head
        self.attention_dropout = attn_pdrop
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.output_dropout = nn.Dropout(resid_pdrop)
        everything = torch.ones(1, 1, max_seqlen, max_seqlen, dtype=torch.bool)
        self.register_buffer("bias", everything.tril())

    def forward(self, x):
        length = x.size(1)
        thirds = self.c_attn(x).chunk(3, dim=2)
        q, k, v = (third.unflatten(2, (self.heads, -1)).transpose(1, 2) for third in thirds)
        may_look = self.bias[:, :, :length, :length]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=may_look, dropout_p=self.attention_dropout)
        return self.output_dropout(self.c_proj(y.transpose(1, 2).flatten(2)))


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, EMBEDDING)]


def get_init_inputs():
    return [EMBEDDING, HEADS, DROPOUT, DROPOUT, MAX_SEQUENCE]
