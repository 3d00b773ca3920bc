"""Gated layers of a mixture of experts, for tokens whose experts have been chosen (as in Mixtral).

    y[t] = sum over j < TOP_EXPERTS of weights[t, j] * mlp of expert e = indices[t, j] at x[t]
    mlp  = down_proj[e] ( silu(gate_proj[e] x[t]) * (up_proj[e] x[t]) )

Inputs: x, (BATCH, SEQUENCE, HIDDEN), indices, (BATCH, SEQUENCE, TOP_EXPERTS) of int64 in [0, EXPERTS), different within
a token, and weights, of the shape of indices. Output: y, the shape of x. Parameters: `gate_proj` and `up_proj`,
(EXPERTS, INTERMEDIATE, HIDDEN), and `down_proj`, (EXPERTS, HIDDEN, INTERMEDIATE). Experts get different numbers of
tokens.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQUENCE = 2048
HIDDEN = 4096
INTERMEDIATE = 14336
EXPERTS = 8
TOP_EXPERTS = 2

FAMILY = "mixture of experts"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 128, "HIDDEN": 256, "INTERMEDIATE": 896},
    "odd": {"BATCH": 3, "SEQUENCE": 79, "HIDDEN": 237, "INTERMEDIATE": 603, "EXPERTS": 7, "TOP_EXPERTS": 3},
}
# Not "scaled": the output grows with the cube of the inputs and leaves fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


def scaled_randn(*shape):
    """A weight whose product with a vector keeps the vector's scale."""
    return nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)


class Model(nn.Module):
    def __init__(self, hidden, intermediate, experts):
        super().__init__()
        self.gate_proj = scaled_randn(experts, intermediate, hidden)
        self.up_proj = scaled_randn(experts, intermediate, hidden)
        self.down_proj = scaled_randn(experts, hidden, intermediate)

    def forward(self, x, indices, weights):
        tokens, experts, weights = x.flatten(0, 1), indices.flatten(0, 1), weights.flatten(0, 1)

        # Pairs (token, place among its experts), sorted by expert, so that each expert sees its tokens in one piece.
        order = experts.flatten().argsort(stable=True)
        counts = experts.flatten().bincount(minlength=len(self.gate_proj)).tolist()
        pieces = tokens[order // experts.shape[1]].split(counts)
        results = torch.cat([self.expert(e, piece) for e, piece in enumerate(pieces)])
        by_token = results[order.argsort()].unflatten(0, experts.shape)
        return (weights.unsqueeze(-1) * by_token).sum(dim=1).view_as(x)

    def expert(self, e, x):
        return F.linear(F.silu(F.linear(x, self.gate_proj[e])) * F.linear(x, self.up_proj[e]), self.down_proj[e])


def get_inputs():
    x = torch.randn(BATCH, SEQUENCE, HIDDEN)
    indices = torch.rand(BATCH, SEQUENCE, EXPERTS).argsort(dim=-1)[..., :TOP_EXPERTS].contiguous()
    weights = torch.softmax(torch.randn(BATCH, SEQUENCE, TOP_EXPERTS), dim=-1)
    return [x, indices, weights]


def get_init_inputs():
    return [HIDDEN, INTERMEDIATE, EXPERTS]
