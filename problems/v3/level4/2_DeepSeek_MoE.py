"""Mixture of experts with sigmoid gates, groups of experts and shared experts (as in DeepSeek-V3).

For each token x, with mlp(x) = W_down (silu(W_gate x) * (W_up x)):

    s[e]   = sigmoid(gate x)[e],  c[e] = s[e] + bias[e]           the bias only helps to choose
    groups : of GROUPS runs of neighbouring experts the TOP_GROUPS with the largest sum of their two largest c
    chosen : of the experts in those groups the TOP_EXPERTS with the largest c
    w[e]   = ROUTED_SCALE * s[e] / sum of s over the chosen
    y      = sum over the chosen of w[e] * mlp_e(x)  +  mlp_shared(x)

Input: x, (BATCH, SEQUENCE, HIDDEN). Output: y, the same shape. `gate` is (EXPERTS, HIDDEN), `e_score_correction_bias`
(EXPERTS,); each expert has INTERMEDIATE numbers inside, the shared one SHARED * INTERMEDIATE. W_gate, W_up and W_down
of all experts lie in `gate_proj` and `up_proj`, (EXPERTS, INTERMEDIATE, HIDDEN), and `down_proj`, (EXPERTS, HIDDEN,
INTERMEDIATE). The scores are computed in fp32, whatever the precision of x.

A choice between two experts that are equal but for rounding has no right answer. So gate and bias are given by a
formula (cosines, orthogonal to each other), and get_inputs() draws a quarter more tokens than it needs and leaves out
those whose choices are closest: what is left keeps a margin of more than 2e-3 in c.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQUENCE = 2048
HIDDEN = 2048
INTERMEDIATE = 1408
EXPERTS = 64
TOP_EXPERTS = 8
GROUPS = 8
TOP_GROUPS = 4
SHARED = 2
ROUTED_SCALE = 2.5

FAMILY = "mixture of experts"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 128, "HIDDEN": 256, "INTERMEDIATE": 176, "EXPERTS": 16, "TOP_EXPERTS": 4,
              "GROUPS": 4, "TOP_GROUPS": 2},
    "odd": {"BATCH": 3, "SEQUENCE": 83, "HIDDEN": 235, "INTERMEDIATE": 149, "EXPERTS": 21, "TOP_EXPERTS": 5,
            "GROUPS": 7, "TOP_GROUPS": 3, "SHARED": 3},
}
# None: they would change the tokens after those with close choices have been left out.
DISTRIBUTIONS = ()


def router(experts, hidden):
    """Gate and bias. The gate's rows are orthogonal and of length 1, so the logits of randn tokens are randn too."""
    rows = torch.arange(1, experts + 1).unsqueeze(1)
    columns = torch.arange(hidden) + 0.5
    gate = math.sqrt(2 / hidden) * torch.cos(math.pi / hidden * rows * columns)
    return gate, 0.1 * torch.sin(torch.arange(experts) ** 2)


def choose(scores, bias, groups, top_groups, top_experts):
    """Indices of the experts chosen for each token, and by how much the closer of its two choices was made."""
    corrected = scores + bias
    group_scores = corrected.unflatten(-1, (groups, -1)).topk(2, dim=-1).values.sum(-1)
    best = group_scores.topk(top_groups + 1, dim=-1)
    kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(-1, best.indices[:, :-1], True)
    kept = kept.repeat_interleave(scores.shape[-1] // groups, dim=-1)
    chosen = corrected.masked_fill(~kept, -math.inf).topk(top_experts + 1, dim=-1)
    margins = [values[:, -2] - values[:, -1] for values in (best.values, chosen.values)]
    return chosen.indices[:, :-1], torch.minimum(*margins)


def mlp(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def scaled_randn(*shape):
    """A weight whose product with a vector keeps the vector's scale."""
    return nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5)


class Model(nn.Module):
    def __init__(self, hidden, intermediate, experts, top_experts, groups, top_groups, shared, routed_scale):
        super().__init__()
        self.top_experts, self.groups, self.top_groups, self.scale = top_experts, groups, top_groups, routed_scale
        gate, bias = router(experts, hidden)
        self.gate = nn.Parameter(gate)
        self.e_score_correction_bias = nn.Parameter(bias)
        self.gate_proj = scaled_randn(experts, intermediate, hidden)
        self.up_proj = scaled_randn(experts, intermediate, hidden)
        self.down_proj = scaled_randn(experts, hidden, intermediate)
        self.shared_gate_proj = scaled_randn(shared * intermediate, hidden)
        self.shared_up_proj = scaled_randn(shared * intermediate, hidden)
        self.shared_down_proj = scaled_randn(hidden, shared * intermediate)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        experts, weights = self.route(tokens)

        # Pairs (token, place among its experts), sorted by expert, so that each expert sees its tokens in one piece.
        order = experts.flatten().argsort(stable=True)
        counts = experts.flatten().bincount(minlength=len(self.gate)).tolist()
        pieces = tokens[order // self.top_experts].split(counts)
        results = [mlp(piece, self.gate_proj[e], self.up_proj[e], self.down_proj[e]) for e, piece in enumerate(pieces)]
        routed = torch.cat(results)[order.argsort()].unflatten(0, experts.shape)

        y = (weights.unsqueeze(-1) * routed).sum(dim=1)
        y = y + mlp(tokens, self.shared_gate_proj, self.shared_up_proj, self.shared_down_proj)
        return y.view_as(x)

    def route(self, tokens):
        wide = torch.promote_types(tokens.dtype, torch.float32)
        scores = torch.sigmoid(F.linear(tokens.to(wide), self.gate.to(wide)))
        bias = self.e_score_correction_bias.to(wide)
        experts, _ = choose(scores, bias, self.groups, self.top_groups, self.top_experts)
        weights = scores.gather(1, experts)
        return experts, (self.scale * weights / weights.sum(dim=1, keepdim=True)).to(tokens.dtype)


def get_inputs():
    tokens = BATCH * SEQUENCE
    drawn = torch.randn(tokens + tokens // 4, HIDDEN)
    gate, bias = router(EXPERTS, HIDDEN)
    _, margins = choose(torch.sigmoid(drawn @ gate.T), bias, GROUPS, TOP_GROUPS, TOP_EXPERTS)
    clearest = margins.topk(tokens).indices.sort().values
    return [drawn[clearest].view(BATCH, SEQUENCE, HIDDEN)]


def get_init_inputs():
    return [HIDDEN, INTERMEDIATE, EXPERTS, TOP_EXPERTS, GROUPS, TOP_GROUPS, SHARED, ROUTED_SCALE]
