"""Diffusion transformer of HunyuanVideo: a noisy latent clip and a text attend to each other in two kinds of blocks.

norm is layer normalisation without gain and shift; rms(z) = z / sqrt(mean of z^2 + eps) * gain in each head; both eps
are 1e-6. gelu is the tanh form. Attention is softmax(q . k / sqrt(head)) v over all tokens it is given, in HEADS heads,
with no mask. The vector c, one for each sample, steers the blocks: a modulation is W silu(c), cut into pieces of WIDTH.

    c      = time(t) + W2 silu(W1 pooled)
    time   = W2 silu(W1 (cos(t f[0]), ..., cos(t f[127]), sin(t f[0]), ..., sin(t f[127]))),  f[i] = 10000^(-i / 128)
    image  = W (patch), for each patch of PATCH frames, rows and columns, in this order
    text   = refined text embedding

    Double block, for z = image and z = text, each with weights of its own:
        shift, scale, gate, shift', scale', gate' = modulation
        q, k, v = W_qkv ( norm(z) * (1 + scale) + shift );  q = R rms(q),  k = R rms(k)           R for the image only
        z = z + gate * W_o attention                                   all q, k, v of the image, then those of the text
        z = z + gate' * W2 gelu(W1 ( norm(z) * (1 + scale') + shift' ))
    Single block, for z = (image, text), one behind the other:
        shift, scale, gate = modulation
        q, k, v, m = W1 ( norm(z) * (1 + scale) + shift );  q and k go on as above
        z = z + gate * W2 (attention, gelu(m))
    Output:
        shift, scale = modulation
        y = W ( norm(image) * (1 + scale) + shift )            LATENT channels of a patch, put back where it came from

    Refiner, for z = W (text embedding), steered by c = time(t) + W2 silu(W1 (mean of the text embedding over tokens)),
    with weights of its own and gain and shift in norm:
        gate, gate' = modulation;  z = z + gate * W_o attention;  z = z + gate' * W2 silu(W1 norm(z))
        q, k, v = W_qkv norm(z)

R turns each pair of numbers (2 i, 2 i + 1) of a head: the first ROPE[0] numbers by the patch's frame, the next ROPE[1]
by its row, the last ROPE[2] by its column; pair j of ROPE[a] by the angle position * THETA^(-2 j / ROPE[a]). (p, q)
becomes (p cos - q sin, q cos + p sin). The buffers `cos` and `sin`, (patches, head / 2), hold these.

Inputs: x, (BATCH, LATENT, FRAMES, ROWS, COLUMNS), t, (BATCH,) of int64 in [0, 1000), the text embedding, (BATCH,
TEXT_TOKENS, TEXT_WIDTH), and pooled, (BATCH, POOLED_WIDTH). Output: y, the shape of x. All linear layers have a bias.
The cosines and sines of t are computed in fp32, whatever the precision of x. The published model has more blocks: 20
double ones, 40 single ones.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
LATENT = 16
FRAMES = 3
ROWS = 32
COLUMNS = 32
PATCH = [1, 2, 2]
TEXT_TOKENS = 10
TEXT_WIDTH = 1024
POOLED_WIDTH = 768
WIDTH = 3072
HEADS = 24
ROPE = [16, 56, 56]
THETA = 256.0
MLP = 12288
DOUBLE_BLOCKS = 2
SINGLE_BLOCKS = 4
REFINER_BLOCKS = 2

FAMILY = "transformer"
SIZES = {
    "small": {"FRAMES": 2, "ROWS": 16, "COLUMNS": 16, "TEXT_WIDTH": 128, "POOLED_WIDTH": 96, "WIDTH": 128, "HEADS": 4,
              "ROPE": [8, 12, 12], "MLP": 512, "DOUBLE_BLOCKS": 1, "SINGLE_BLOCKS": 2, "REFINER_BLOCKS": 1},
    # Rows and columns are even, as patches are; so are heads, whose numbers turn in pairs.
    "odd": {"BATCH": 3, "LATENT": 5, "ROWS": 10, "COLUMNS": 14, "TEXT_TOKENS": 7, "TEXT_WIDTH": 101, "POOLED_WIDTH": 77,
            "WIDTH": 102, "HEADS": 3, "ROPE": [6, 10, 18], "MLP": 409, "DOUBLE_BLOCKS": 1, "SINGLE_BLOCKS": 3,
            "REFINER_BLOCKS": 1},
}
# Not "scaled": `pooled` enters the modulations as it is, and gates of that size leave fp16.
DISTRIBUTIONS = ("centred", "sparse", "structured")


def linear(inputs, outputs):
    """A linear layer that keeps the scale of its input."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


def two_layers(inputs, inside, outputs, activation):
    return nn.Sequential(linear(inputs, inside), activation, linear(inside, outputs))


def norm(width, learned=False):
    layer = nn.LayerNorm(width, eps=1e-6, elementwise_affine=learned)
    if learned:
        nn.init.uniform_(layer.weight, 0.5, 1.5)
        nn.init.normal_(layer.bias, std=0.2)
    return layer


def rms_norm(width):
    layer = nn.RMSNorm(width, eps=1e-6)
    nn.init.uniform_(layer.weight, 0.5, 1.5)
    return layer


def angles(grid, rope, theta):
    """(patches, head / 2): how far each pair of numbers of a head turns at each place of the grid."""
    places = torch.cartesian_prod(*(torch.arange(extent, dtype=torch.float64) for extent in grid))
    frequencies = [theta ** (-torch.arange(0, size, 2, dtype=torch.float64) / size) for size in rope]
    return torch.cat([torch.outer(place, f) for place, f in zip(places.T, frequencies)], dim=-1)


def rotate(z, cos, sin):
    """z: (..., tokens, head). Only as many tokens turn as cos and sin have, the first ones: the image's."""
    p, q = z[..., :len(cos), :].unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack((p * cos - q * sin, q * cos + p * sin), dim=-1).flatten(-2)
    return torch.cat((turned, z[..., len(cos):, :]), dim=-2)


def heads_of(qkv, heads):
    """(batch, tokens, 3 * width) to q, k and v of (batch, heads, tokens, head)."""
    return qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class Time(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = two_layers(256, width, width, nn.SiLU())

    def forward(self, t, dtype):
        wide = torch.promote_types(dtype, torch.float32)
        frequencies = torch.exp(-math.log(10000) / 128 * torch.arange(128, dtype=wide, device=t.device))
        phases = t[:, None] * frequencies
        return self.layers(torch.cat((phases.cos(), phases.sin()), dim=-1).to(dtype))


class Modulation(nn.Module):
    def __init__(self, width, pieces):
        super().__init__()
        self.layer, self.pieces = linear(width, pieces * width), pieces

    def forward(self, c):
        return self.layer(F.silu(c)).unsqueeze(1).chunk(self.pieces, dim=-1)


class RefinerBlock(nn.Module):
    def __init__(self, width, heads, mlp):
        super().__init__()
        self.heads = heads
        self.modulation = Modulation(width, 2)
        self.norm1, self.qkv, self.out = norm(width, learned=True), linear(width, 3 * width), linear(width, width)
        self.norm2, self.mlp = norm(width, learned=True), two_layers(width, mlp, width, nn.SiLU())

    def forward(self, z, c):
        attention_gate, mlp_gate = self.modulation(c)
        z = z + attention_gate * self.out(attend(*heads_of(self.qkv(self.norm1(z)), self.heads)))
        return z + mlp_gate * self.mlp(self.norm2(z))


class Refiner(nn.Module):
    def __init__(self, text_width, width, heads, mlp, blocks):
        super().__init__()
        self.embed = linear(text_width, width)
        self.time, self.mean = Time(width), two_layers(text_width, width, width, nn.SiLU())
        self.blocks = nn.ModuleList(RefinerBlock(width, heads, mlp) for _ in range(blocks))

    def forward(self, text, t):
        c = self.time(t, text.dtype) + self.mean(text.mean(dim=1))
        z = self.embed(text)
        for block in self.blocks:
            z = block(z, c)
        return z


class Stream(nn.Module):
    """What a double block does to its image or to its text, before and after they attend to each other."""

    def __init__(self, width, heads, mlp):
        super().__init__()
        self.heads = heads
        self.modulation, self.norm = Modulation(width, 6), norm(width)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.q_norm, self.k_norm = rms_norm(width // heads), rms_norm(width // heads)
        self.mlp = two_layers(width, mlp, width, nn.GELU("tanh"))

    def before(self, z, shift, scale):
        q, k, v = heads_of(self.qkv(self.norm(z) * (1 + scale) + shift), self.heads)
        return self.q_norm(q), self.k_norm(k), v

    def after(self, z, attended, gate, mlp_shift, mlp_scale, mlp_gate):
        z = z + gate * self.out(attended)
        return z + mlp_gate * self.mlp(self.norm(z) * (1 + mlp_scale) + mlp_shift)


class DoubleBlock(nn.Module):
    def __init__(self, width, heads, mlp):
        super().__init__()
        self.image, self.text = Stream(width, heads, mlp), Stream(width, heads, mlp)

    def forward(self, image, text, c, cos, sin):
        for_image, for_text = self.image.modulation(c), self.text.modulation(c)
        both = zip(self.image.before(image, *for_image[:2]), self.text.before(text, *for_text[:2]))
        q, k, v = (torch.cat(pair, dim=2) for pair in both)
        attended = attend(rotate(q, cos, sin), rotate(k, cos, sin), v)
        of_image, of_text = attended.split((image.shape[1], text.shape[1]), dim=1)
        return self.image.after(image, of_image, *for_image[2:]), self.text.after(text, of_text, *for_text[2:])


class SingleBlock(nn.Module):
    def __init__(self, width, heads, mlp):
        super().__init__()
        self.heads, self.parts = heads, (3 * width, mlp)
        self.modulation, self.norm = Modulation(width, 3), norm(width)
        self.linear1, self.linear2 = linear(width, 3 * width + mlp), linear(width + mlp, width)
        self.q_norm, self.k_norm = rms_norm(width // heads), rms_norm(width // heads)

    def forward(self, z, c, cos, sin):
        shift, scale, gate = self.modulation(c)
        qkv, m = self.linear1(self.norm(z) * (1 + scale) + shift).split(self.parts, dim=-1)
        q, k, v = heads_of(qkv, self.heads)
        attended = attend(rotate(self.q_norm(q), cos, sin), rotate(self.k_norm(k), cos, sin), v)
        return z + gate * self.linear2(torch.cat((attended, F.gelu(m, approximate="tanh")), dim=-1))


class Model(nn.Module):
    def __init__(self, clip, patch, text_width, pooled_width, width, heads, rope, theta, mlp, double_blocks,
                 single_blocks, refiner_blocks):
        super().__init__()
        latent, *extents = clip
        self.patch, self.latent = patch, latent
        self.grid = [extent // size for extent, size in zip(extents, patch)]
        self.embed = nn.Conv3d(latent, width, patch, stride=patch)
        self.refiner = Refiner(text_width, width, heads, mlp, refiner_blocks)
        self.time, self.pooled = Time(width), two_layers(pooled_width, width, width, nn.SiLU())
        self.double_blocks = nn.ModuleList(DoubleBlock(width, heads, mlp) for _ in range(double_blocks))
        self.single_blocks = nn.ModuleList(SingleBlock(width, heads, mlp) for _ in range(single_blocks))
        self.modulation, self.norm = Modulation(width, 2), norm(width)
        self.output = linear(width, latent * math.prod(patch))
        turns = angles(self.grid, rope, theta)
        self.register_buffer("cos", turns.cos().float())
        self.register_buffer("sin", turns.sin().float())

    def forward(self, x, t, text, pooled):
        c = self.time(t, x.dtype) + self.pooled(pooled)
        image, text = self.embed(x).flatten(2).mT, self.refiner(text, t)
        for block in self.double_blocks:
            image, text = block(image, text, c, self.cos, self.sin)

        z = torch.cat((image, text), dim=1)
        for block in self.single_blocks:
            z = block(z, c, self.cos, self.sin)
        image = z[:, :image.shape[1]]

        shift, scale = self.modulation(c)
        patches = self.output(self.norm(image) * (1 + scale) + shift)
        patches = patches.unflatten(2, (self.latent, *self.patch)).unflatten(1, self.grid)
        return patches.permute(0, 4, 1, 5, 2, 6, 3, 7).reshape(x.shape)


def get_inputs():
    return [
        torch.randn(BATCH, LATENT, FRAMES, ROWS, COLUMNS),
        torch.randint(0, 1000, (BATCH,)),
        torch.randn(BATCH, TEXT_TOKENS, TEXT_WIDTH),
        torch.randn(BATCH, POOLED_WIDTH),
    ]


def get_init_inputs():
    return [[LATENT, FRAMES, ROWS, COLUMNS], PATCH, TEXT_WIDTH, POOLED_WIDTH, WIDTH, HEADS, ROPE, THETA, MLP,
            DOUBLE_BLOCKS, SINGLE_BLOCKS, REFINER_BLOCKS]
