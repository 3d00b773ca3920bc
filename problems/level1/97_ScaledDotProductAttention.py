"""Attention of every position to all positions, in several heads.

For each sample and head, with t, s positions:

    a[t, s] = softmax over s of ( q[t] . k[s] / sqrt(HEAD_DIM) )
    y[t]    = sum over s of a[t, s] * v[s]

Inputs: q, k, v, (BATCH, HEADS, SEQUENCE, HEAD_DIM) each. Output: y, the same shape. There is no mask and no dropout.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
HEADS = 32
SEQUENCE = 512
HEAD_DIM = 1024

SIZES = {
    "small": {"BATCH": 4, "HEADS": 8, "SEQUENCE": 128, "HEAD_DIM": 256},
    "odd": {"BATCH": 3, "HEADS": 7, "SEQUENCE": 117, "HEAD_DIM": 251},
}
# As drawn, every output is about the mean of v; "centred" takes that mean away, "structured" alternates its sign.
# Not "scaled": the logits grow with the square of the input, and softmax then only keeps their rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")
FAMILY = "attention"


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


def get_inputs():
    return [torch.rand(BATCH, HEADS, SEQUENCE, HEAD_DIM) for _ in ("q", "k", "v")]


def get_init_inputs():
    return []
