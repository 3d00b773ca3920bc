"""Mixture of experts with an expert shared by all tokens, behind a gate of its own (the layer of Qwen1.5-MoE-A2.7B).

For each token x, with mlp(x) = down ( silu(gate x) * (up x) ):

    p      = softmax(router x)                                           over all EXPERTS
    chosen = the TOP_EXPERTS experts with the largest p
    y      = sum over the chosen of p[e] * mlp_e(x)  +  sigmoid(shared_gate x) * mlp_shared(x)

The p of the chosen are not divided by their sum.

Input: x, (BATCH, SEQUENCE, HIDDEN). Output: y, the same shape. `router` is (EXPERTS, HIDDEN), `shared_gate` is
(1, HIDDEN). Of `gate_up_proj`, (EXPERTS, 2 * INTERMEDIATE, HIDDEN), the first INTERMEDIATE rows of an expert are gate,
the others up. `down_proj` is (EXPERTS, HIDDEN, INTERMEDIATE). `shared_gate_up_proj` and `shared_down_proj` are laid out
alike, with SHARED_INTERMEDIATE. Softmax and sigmoid, with their logits, are computed in fp32, whatever the precision of
x.

A choice between two experts whose p are equal but for rounding has no right answer. So `router` is given by a
formula (cosines, orthogonal to each other), and get_inputs() draws a quarter more tokens than it needs and leaves out
those whose choices are closest: in what is left 2e-2 and more lie between the logits of the last expert chosen and of
the next.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
SEQUENCE = 1024
HIDDEN = 2048
INTERMEDIATE = 1408
SHARED_INTERMEDIATE = 5632
EXPERTS = 60
TOP_EXPERTS = 4

FAMILY = "mixture of experts"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 192, "HIDDEN": 256, "INTERMEDIATE": 176, "SHARED_INTERMEDIATE": 704,
              "EXPERTS": 16},
    "odd": {"BATCH": 3, "SEQUENCE": 109, "HIDDEN": 235, "INTERMEDIATE": 149, "SHARED_INTERMEDIATE": 587, "EXPERTS": 19,
            "TOP_EXPERTS": 5},
}
# None: they would change the tokens after those with close choices have been left out.
DISTRIBUTIONS = ()


def cosines(rows, columns):
    """Rows of length 1, orthogonal, so that their products with a randn token are randn too."""
    frequencies = torch.arange(1, rows + 1)[:, None]
    places = torch.arange(columns) + 0.5
    return math.sqrt(2 / columns) * torch.cos(math.pi / columns * frequencies * places)


def scaled_randn(*shape):
    """A weight whose product with a vector keeps the vector's scale."""
    return nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)


def mlp(x, gate_up, down):
    gate, up = F.linear(x, gate_up).chunk(2, dim=-1)
    return F.linear(F.silu(gate) * up, down)


class Model(nn.Module):
    def __init__(self, hidden, intermediate, shared_intermediate, experts, top_experts):
        super().__init__()
        self.top_experts = top_experts
        self.router = nn.Parameter(cosines(experts, hidden))
        self.gate_up_proj = scaled_randn(experts, 2 * intermediate, hidden)
        self.down_proj = scaled_randn(experts, hidden, intermediate)
        self.shared_gate = scaled_randn(1, hidden)
        self.shared_gate_up_proj = scaled_randn(2 * shared_intermediate, hidden)
        self.shared_down_proj = scaled_randn(hidden, shared_intermediate)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        wide = torch.promote_types(x.dtype, torch.float32)
        logits = F.linear(tokens.to(wide), self.router.to(wide))
        weights, experts = torch.softmax(logits, dim=-1).topk(self.top_experts, dim=-1)
        shared_weight = torch.sigmoid(F.linear(tokens.to(wide), self.shared_gate.to(wide)))

        # Pairs (token, place among its experts), sorted by expert, so that each expert sees its tokens in one piece.
        order = experts.flatten().argsort(stable=True)
        counts = experts.flatten().bincount(minlength=len(self.router)).tolist()
        pieces = tokens[order // self.top_experts].split(counts)
        results = [mlp(piece, self.gate_up_proj[e], self.down_proj[e]) for e, piece in enumerate(pieces)]
        by_token = torch.cat(results)[order.argsort()].unflatten(0, experts.shape)

        routed = (weights.to(x.dtype).unsqueeze(-1) * by_token).sum(dim=1)
        shared = shared_weight.to(x.dtype) * mlp(tokens, self.shared_gate_up_proj, self.shared_down_proj)
        return (routed + shared).view_as(x)


def get_inputs():
    tokens = BATCH * SEQUENCE
    drawn = torch.randn(tokens + tokens // 4, HIDDEN)
    best = (drawn @ cosines(EXPERTS, HIDDEN).T).topk(TOP_EXPERTS + 1, dim=-1).values
    margins = best[:, -2] - best[:, -1]
    clearest = margins.topk(tokens).indices.sort().values
    return [drawn[clearest].view(BATCH, SEQUENCE, HIDDEN)]


def get_init_inputs():
    return [HIDDEN, INTERMEDIATE, SHARED_INTERMEDIATE, EXPERTS, TOP_EXPERTS]
