"""Mixture of many small experts for a batch of single tokens (the layer of Qwen3-30B-A3B while it decodes).

For each token x:

    l      = router x                                                    EXPERTS logits
    chosen = the TOP_EXPERTS experts with the largest logits
    w[e]   = exp(l[e]) / sum of exp(l) over the chosen
    y      = sum over the chosen of w[e] * down_e ( silu(gate_e x) * (up_e x) )

Input: x, (BATCH, SEQUENCE, HIDDEN). Output: y, the same shape. `router` is (EXPERTS, HIDDEN). Of `gate_up_proj`,
(EXPERTS, 2 * INTERMEDIATE, HIDDEN), the first INTERMEDIATE rows of an expert are gate_e, the others up_e. `down_proj`
is (EXPERTS, HIDDEN, INTERMEDIATE). Logits and w are computed in fp32, whatever the precision of x. At the standard size
eight tokens come to an expert on average, so that reading the weights takes most of the time.

A choice between two experts whose logits are equal but for rounding has no right answer. So `router` is given by a
formula (cosines, orthogonal to each other), and get_inputs() draws a quarter more tokens than it needs and leaves out
those whose choices are closest: in what is left 1e-2 and more lie between the logits of the last expert chosen and of
the next.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
SEQUENCE = 1
HIDDEN = 2048
INTERMEDIATE = 768
EXPERTS = 128
TOP_EXPERTS = 8

FAMILY = "mixture of experts"
SIZES = {
    "small": {"BATCH": 64, "HIDDEN": 256, "INTERMEDIATE": 96, "EXPERTS": 32, "TOP_EXPERTS": 4},
    "odd": {"BATCH": 53, "HIDDEN": 235, "INTERMEDIATE": 93, "EXPERTS": 37, "TOP_EXPERTS": 5},
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


class Model(nn.Module):
    def __init__(self, hidden, intermediate, experts, top_experts):
        super().__init__()
        self.top_experts = top_experts
        self.router = nn.Parameter(cosines(experts, hidden))
        self.gate_up_proj = scaled_randn(experts, 2 * intermediate, hidden)
        self.down_proj = scaled_randn(experts, hidden, intermediate)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        wide = torch.promote_types(x.dtype, torch.float32)
        logits, experts = F.linear(tokens.to(wide), self.router.to(wide)).topk(self.top_experts, dim=-1)
        weights = torch.softmax(logits, dim=-1).to(x.dtype)

        # Pairs (token, place among its experts), sorted by expert, so that each expert sees its tokens in one piece.
        order = experts.flatten().argsort(stable=True)
        counts = experts.flatten().bincount(minlength=len(self.router)).tolist()
        pieces = tokens[order // self.top_experts].split(counts)
        results = torch.cat([self.expert(e, piece) for e, piece in enumerate(pieces)])
        by_token = results[order.argsort()].unflatten(0, experts.shape)
        return (weights.unsqueeze(-1) * by_token).sum(dim=1).view_as(x)

    def expert(self, e, x):
        gate, up = F.linear(x, self.gate_up_proj[e]).chunk(2, dim=-1)
        return F.linear(F.silu(gate) * up, self.down_proj[e])


def get_inputs():
    tokens = BATCH * SEQUENCE
    drawn = torch.randn(tokens + tokens // 4, HIDDEN)
    best = (drawn @ cosines(EXPERTS, HIDDEN).T).topk(TOP_EXPERTS + 1, dim=-1).values
    margins = best[:, -2] - best[:, -1]
    clearest = margins.topk(tokens).indices.sort().values
    return [drawn[clearest].view(BATCH, SEQUENCE, HIDDEN)]


def get_init_inputs():
    return [HIDDEN, INTERMEDIATE, EXPERTS, TOP_EXPERTS]
