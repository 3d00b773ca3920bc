"""Language model of the DeepSeek-V3 kind with ten layers, three dense and seven mixtures of experts: all logits.

With x[t] the embedding of the token at position t, norm(z) = z / sqrt(mean of z^2 + 1e-6) * gain, and
mlp(z) = W_down ( silu(W_gate z) * (W_up z) ), in each layer

    x      = x + W_o attention(norm(x))
    x      = x + mlp(norm(x))  in the first DENSE_LAYERS layers,  x + mixture(norm(x))  in the others
    logits = W_head norm(x)                                                         after the last layer

Attention is latent (MLA). With z = norm(x), and h one of HEADS:

    qn[t, h], qr[t, h]  = W_qb norm(W_qa z[t])        cut into heads; NOPE and ROPE numbers a head
    c[t], kr[t]         = W_kva z[t]                  KV_RANK and ROPE numbers; kr is one for all heads
    kn[t, h], v[t, h]   = W_kvb norm(c[t])            cut into heads; NOPE and VALUE numbers a head
    a[t, s, h]          = softmax over s <= t of (qn[t, h] . kn[s, h] + R(t) qr[t, h] . R(s) kr[s]) / sqrt(NOPE + ROPE)
    result[t]           = sum over s of a[t, s, h] v[s, h], heads joined

R(t) turns each pair of neighbours (2i, 2i + 1) by the angle t * THETA^(-2i / ROPE), i < ROPE / 2: (p, q) becomes
(p cos - q sin, q cos + p sin). The buffers `cos` and `sin`, (MAX_POSITIONS, ROPE / 2), hold these for every position.

A mixture chooses for each token z of each position among EXPERTS:

    s[e]   = sigmoid(gate z)[e],  c[e] = s[e] + bias[e]           the bias only helps to choose; both in fp32 at least
    groups : of GROUPS runs of neighbouring experts the TOP_GROUPS with the largest sum of their two largest c
    chosen : of the experts in those groups the TOP_EXPERTS with the largest c
    w[e]   = ROUTED_SCALE * s[e] / sum of s over the chosen
    y      = sum over the chosen of w[e] * mlp_e(z)  +  mlp_shared(z)

Input: tokens, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY). No layer
has a bias. The rows of W_qb (`q_b_proj`) and W_kvb (`kv_b_proj`) are sorted by head, and within a head by the order
above. W_gate, W_up and W_down of all experts of a layer lie in `gate_proj` and `up_proj`, (EXPERTS, EXPERT_INNER,
HIDDEN), and `down_proj`, (EXPERTS, HIDDEN, EXPERT_INNER). Widths, ranks, heads and vocabulary are a quarter of what was
published; head sizes, experts, groups and the three dense layers are as published, of 61 layers there are ten. That
is 5.3 billion parameters, 10.5 GB in bf16, which the task is meant for.

A choice between two experts that are equal but for rounding has no right answer. So the gates look along directions
into which no layer writes, where a token keeps what its embedding says, and there embeddings are drawn such that a
token's c is at least 0.02 larger for the experts it chooses, and for those in the groups it keeps, than for the next.
"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
SEQUENCE = 128
VOCABULARY = 32320
LAYERS = 10
DENSE_LAYERS = 3
HIDDEN = 1792
HEADS = 32
Q_RANK = 384
KV_RANK = 128
NOPE = 128
ROPE = 64
VALUE = 128
INNER = 4608
EXPERT_INNER = 512
EXPERTS = 256
TOP_EXPERTS = 8
GROUPS = 8
TOP_GROUPS = 4
SHARED = 1
ROUTED_SCALE = 2.5
MAX_POSITIONS = 4096
THETA = 10000.0

FAMILY = "transformer"
SIZES = {
    "small": {"SEQUENCE": 64, "VOCABULARY": 1200, "LAYERS": 3, "DENSE_LAYERS": 1, "HIDDEN": 256, "HEADS": 4,
              "Q_RANK": 96, "KV_RANK": 32, "NOPE": 64, "ROPE": 32, "VALUE": 64, "INNER": 640, "EXPERT_INNER": 80,
              "EXPERTS": 32, "TOP_EXPERTS": 4, "TOP_GROUPS": 3, "MAX_POSITIONS": 80},
    # ROPE is even: its numbers come in pairs. HIDDEN is at least EXPERTS.
    "odd": {"BATCH": 3, "SEQUENCE": 37, "VOCABULARY": 1123, "LAYERS": 3, "DENSE_LAYERS": 1, "HIDDEN": 235, "HEADS": 3,
            "Q_RANK": 91, "KV_RANK": 37, "NOPE": 45, "ROPE": 22, "VALUE": 39, "INNER": 581, "EXPERT_INNER": 77,
            "EXPERTS": 35, "TOP_EXPERTS": 5, "GROUPS": 7, "TOP_GROUPS": 3, "SHARED": 3, "MAX_POSITIONS": 53},
}
# Tokens are integers.
DISTRIBUTIONS = ()


def rotate(x, cos, sin):
    """x: (..., positions, ROPE); cos and sin: (positions, ROPE / 2)."""
    p, q = x[..., 0::2], x[..., 1::2]
    return torch.stack((p * cos - q * sin, q * cos + p * sin), dim=-1).flatten(-2)


def uniform(*shape, gain=1.0):
    """A weight whose product with a vector has `gain` times the vector's scale."""
    bound = gain * math.sqrt(3 / shape[-1])
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


def linear(inputs, outputs):
    layer = nn.Linear(inputs, outputs, bias=False)
    layer.weight = uniform(outputs, inputs)
    return layer


def norm(width):
    layer = nn.RMSNorm(width, eps=1e-6)
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    return layer


def mlp(z, gate, up, down):
    return F.linear(F.silu(F.linear(z, gate)) * F.linear(z, up), down)


def choose(scores, bias, groups, top_groups, top_experts):
    """For each token, (tokens, top_experts) indices of its experts, and (tokens, experts) whether a group is kept."""
    corrected = scores + bias
    group_scores = corrected.unflatten(-1, (groups, -1)).topk(2, dim=-1).values.sum(dim=-1)
    best = group_scores.topk(top_groups, dim=-1).indices
    kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(-1, best, True)
    kept = kept.repeat_interleave(scores.shape[-1] // groups, dim=-1)
    return corrected.masked_fill(~kept, -math.inf).topk(top_experts, dim=-1).indices, kept


class Attention(nn.Module):
    def __init__(self, hidden, heads, q_rank, kv_rank, nope, rope, value):
        super().__init__()
        self.heads, self.kv_rank, self.nope, self.rope, self.value = heads, kv_rank, nope, rope, value
        self.q_a_proj = linear(hidden, q_rank)
        self.q_a_layernorm = norm(q_rank)
        self.q_b_proj = linear(q_rank, heads * (nope + rope))
        self.kv_a_proj_with_mqa = linear(hidden, kv_rank + rope)
        self.kv_a_layernorm = norm(kv_rank)
        self.kv_b_proj = linear(kv_rank, heads * (nope + value))
        self.o_proj = linear(heads * value, hidden)

    def forward(self, z, cos, sin):
        q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(z)))
        q_nope, q_rope = self.by_head(q).split((self.nope, self.rope), dim=-1)
        latent, key = self.kv_a_proj_with_mqa(z).split((self.kv_rank, self.rope), dim=-1)
        kv = self.kv_b_proj(self.kv_a_layernorm(latent))
        k_nope, v = self.by_head(kv).split((self.nope, self.value), dim=-1)
        key = rotate(key, cos, sin).unsqueeze(1).expand(-1, self.heads, -1, -1)

        q = torch.cat((q_nope, rotate(q_rope, cos, sin)), dim=-1)
        k = torch.cat((k_nope, key), dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=(self.nope + self.rope) ** -0.5)
        return self.o_proj(y.transpose(1, 2).flatten(2))

    def by_head(self, z):
        """(batch, positions, numbers) to (batch, heads, positions, numbers of a head)."""
        return z.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Mlp(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.gate_proj = uniform(inner, hidden)
        self.up_proj = uniform(inner, hidden)
        self.down_proj = uniform(hidden, inner)

    def forward(self, z):
        return mlp(z, self.gate_proj, self.up_proj, self.down_proj)


class Mixture(nn.Module):
    def __init__(self, hidden, inner, experts, top_experts, groups, top_groups, shared, routed_scale):
        super().__init__()
        self.top_experts, self.groups, self.top_groups, self.scale = top_experts, groups, top_groups, routed_scale
        self.gate = nn.Parameter(torch.empty(experts, hidden))
        self.bias = nn.Parameter(torch.empty(experts).uniform_(-0.03, 0.03))
        self.gate_proj = uniform(experts, inner, hidden)
        self.up_proj = uniform(experts, inner, hidden)
        self.down_proj = uniform(experts, hidden, inner)
        self.shared = Mlp(hidden, shared * inner)

    def forward(self, z):
        tokens = z.flatten(0, 1)
        experts, weights = self.route(tokens)

        # Pairs (token, place among its experts), sorted by expert, so that each expert sees its tokens in one piece.
        order = experts.flatten().argsort(stable=True)
        counts = experts.flatten().bincount(minlength=len(self.gate)).tolist()
        pieces = tokens[order // self.top_experts].split(counts)
        results = [mlp(piece, self.gate_proj[e], self.up_proj[e], self.down_proj[e]) for e, piece in enumerate(pieces)]
        routed = torch.cat(results)[order.argsort()].unflatten(0, experts.shape)
        return (weights.unsqueeze(-1) * routed).sum(dim=1).view_as(z) + self.shared(z)

    def route(self, tokens):
        wide = torch.promote_types(tokens.dtype, torch.float32)
        scores = torch.sigmoid(F.linear(tokens.to(wide), self.gate.to(wide)))
        experts, _ = choose(scores, self.bias.to(wide), self.groups, self.top_groups, self.top_experts)
        weights = scores.gather(1, experts)
        return experts, (self.scale * weights / weights.sum(dim=1, keepdim=True)).to(tokens.dtype)


class Layer(nn.Module):
    def __init__(self, hidden, attention, mlp):
        super().__init__()
        self.attention_norm = norm(hidden)
        self.attention = attention
        self.mlp_norm = norm(hidden)
        self.mlp = mlp

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.mlp(self.mlp_norm(x))


class Model(nn.Module):
    def __init__(self, vocabulary, layers, dense_layers, hidden, heads, q_rank, kv_rank, nope, rope, value, inner,
                 expert_inner, experts, top_experts, groups, top_groups, shared, routed_scale, max_positions, theta):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList()
        for i in range(layers):
            attention = Attention(hidden, heads, q_rank, kv_rank, nope, rope, value)
            if i < dense_layers:
                part = Mlp(hidden, inner)
            else:
                part = Mixture(hidden, expert_inner, experts, top_experts, groups, top_groups, shared, routed_scale)
            self.layers.append(Layer(hidden, attention, part))
        self.norm = norm(hidden)
        self.head = linear(hidden, vocabulary)
        frequencies = theta ** (-torch.arange(0, rope, 2, dtype=torch.float64) / rope)
        angles = torch.outer(torch.arange(max_positions, dtype=torch.float64), frequencies)
        self.register_buffer("cos", angles.cos().float())
        self.register_buffer("sin", angles.sin().float())
        with torch.no_grad():
            self.make_choices_clear(experts)

    def make_choices_clear(self, experts):
        """Sets the gates, embeds a score for every expert along their directions, and lets no layer write there."""
        mixtures = [layer for layer in self.layers if isinstance(layer.mlp, Mixture)]
        first = mixtures[0].mlp
        directions = torch.linalg.qr(torch.randn(self.embedding.embedding_dim, experts)).Q.T

        scores = torch.empty(self.embedding.num_embeddings, experts).uniform_(0.2, 0.8)
        chosen, kept = choose(scores, first.bias, first.groups, first.top_groups, first.top_experts)
        scores += 0.02 * kept + 0.02 * torch.zeros_like(scores).scatter(1, chosen, 1.0)
        self.embedding.weight += (scores.logit() - self.embedding.weight @ directions.T) @ directions

        # From layer to layer the groups move on by one: the same token goes to experts of another number.
        for i, layer in enumerate(mixtures):
            places = i * experts // first.groups
            layer.mlp.gate.copy_(directions.roll(places, dims=0) / layer.mlp_norm.weight)
            layer.mlp.bias.copy_(first.bias.roll(places))

        for layer in self.layers:
            writers = [layer.attention.o_proj.weight, layer.mlp.down_proj]
            if layer in mixtures:
                writers.append(layer.mlp.shared.down_proj)
            for weight in writers:
                weight -= directions.T @ (directions @ weight)
                weight *= (2 * len(self.layers)) ** -0.5

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, *self.angles(x))
        return self.head(self.norm(x))

    def angles(self, x):
        return self.cos[:x.shape[1]].to(x.dtype), self.sin[:x.shape[1]].to(x.dtype)


def reference_fp64(model, tokens):
    """One layer after the other is copied to fp64: the whole model in fp64 would take 42 GB."""
    x = model.embedding(tokens).double()
    for layer in model.layers:
        x = copy.deepcopy(layer).double()(x, *model.angles(x))
    return copy.deepcopy(model.head).double()(copy.deepcopy(model.norm).double()(x))


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, LAYERS, DENSE_LAYERS, HIDDEN, HEADS, Q_RANK, KV_RANK, NOPE, ROPE, VALUE, INNER, EXPERT_INNER,
            EXPERTS, TOP_EXPERTS, GROUPS, TOP_GROUPS, SHARED, ROUTED_SCALE, MAX_POSITIONS, THETA]
