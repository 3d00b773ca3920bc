"""Swin transformer of the second version, with cosine attention within shifted windows.

A block works on x of (batch, side, side, width), in windows of w by w positions, w = 7:

    x = x + norm(attention(x))
    x = x + norm(W2 gelu(W1 x + b1) + b2)                                   hidden width 4 * width

Attention within a window, for each head, with positions p and q of the window:

    q, k, v  = thirds of x W_qkv^T + (q_bias, 0, v_bias), cut into heads
    a[p, q]  = softmax over q of ( scale * q[p] . k[q] / (|q[p]| |k[q]|) + bias[p, q] + mask[p, q] )
    y        = (a v, heads joined again) W_proj^T + b_proj

scale = exp(min(logit_scale, log(100))) for each head; lengths |.| count at least 1e-12. bias = 16 * sigmoid(cpb_mlp(r))
with cpb_mlp = linear, relu, linear without bias, and r the offset of p from q, each of its coordinates d written as
sign(d) * log2(1 + 8 * |d| / (w - 1)) / 3. The buffer `relative_coords_table` holds r for all offsets,
`relative_position_index` the row of it for each pair (p, q).

Every second block of a stage rolls the map by -(w // 2) along both axes before attention and back afterwards; the
buffer `attn_mask` is -100 between positions that were not neighbours before the roll, else 0. A stage whose side is w
has one window and no roll.

Network: conv 4x4 with stride 4 to 96 channels, norm; stages of 2, 2, 6, 2 blocks with 3, 6, 12, 24 heads; norm; mean
over all positions; linear. After each stage but the last, y = norm(x W^T) makes 2 * width channels of the 4 * width of
2x2 neighbours, which are taken in the order (0, 0), (1, 0), (0, 1), (1, 1) of (row, column). `norm` is layer
normalisation over the channels, eps 1e-5; gelu is the exact one (erf).

Input: image, (BATCH, 3, IMAGE, IMAGE). Output: logits, (BATCH, classes), 1000 of them at the standard size.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
IMAGE = 224
ARGUMENTS = []  # of the constructor; its defaults are the standard size

FAMILY = "transformer"
SIZES = {
    "small": {"BATCH": 2, "IMAGE": 112, "ARGUMENTS": [112, 4, 3, 100, 48, [2, 2, 2], [3, 6, 12], 7]},
    "odd": {"BATCH": 2, "IMAGE": 90, "ARGUMENTS": [90, 3, 3, 101, 57, [2, 3], [3, 6], 5]},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


def cut(x, window):
    """Windows of a map: (batch, side, side, width) to (batch * windows, window * window, width)."""
    batch, side, _, width = x.shape
    tiles = side // window
    x = x.view(batch, tiles, window, tiles, window, width).transpose(2, 3)
    return x.reshape(-1, window * window, width)


def join(x, window, side):
    """The opposite of cut."""
    tiles, width = side // window, x.size(-1)
    x = x.view(-1, tiles, tiles, window, window, width).transpose(2, 3)
    return x.reshape(-1, side, side, width)


def offset_table(window):
    steps = torch.arange(1 - window, window, dtype=torch.float32)
    offsets = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), dim=-1) * 8 / (window - 1)
    return (offsets.sign() * torch.log2(1 + offsets.abs()) / 3).unsqueeze(0)


def offset_index(window):
    position = torch.arange(window ** 2)
    rows, columns = position // window, position % window
    down = rows[:, None] - rows + window - 1
    right = columns[:, None] - columns + window - 1
    return down * (2 * window - 1) + right


def roll_mask(side, window, shift):
    position = torch.arange(side)
    band = (position >= side - window).long() + (position >= side - shift).long()
    region = cut((3 * band[:, None] + band).view(1, side, side, 1), window).squeeze(-1)
    return torch.where(region[:, :, None] == region[:, None, :], 0.0, -100.0)


class Attention(nn.Module):
    def __init__(self, width, heads, window):
        super().__init__()
        self.heads = heads
        self.logit_scale = nn.Parameter(torch.full((heads, 1, 1), math.log(10)))
        self.q_bias = nn.Parameter(torch.zeros(width))
        self.v_bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("relative_coords_table", offset_table(window))
        self.register_buffer("relative_position_index", offset_index(window))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(), nn.Linear(512, heads, bias=False))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)

    def position_bias(self):
        by_offset = self.cpb_mlp(self.relative_coords_table).view(-1, self.heads)
        return 16 * torch.sigmoid(by_offset[self.relative_position_index].permute(2, 0, 1))

    def forward(self, x, mask):
        windows, positions, width = x.shape
        qkv_bias = torch.cat((self.q_bias, torch.zeros_like(self.v_bias), self.v_bias))
        qkv = F.linear(x, self.qkv.weight, qkv_bias)
        q, k, v = qkv.view(windows, positions, 3, self.heads, -1).permute(2, 0, 3, 1, 4)

        scale = self.logit_scale.clamp(max=math.log(100)).exp()
        logits = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * scale + self.position_bias()
        if mask is not None:
            logits = logits.unflatten(0, (-1, mask.size(0))) + mask.unsqueeze(1)
            logits = logits.flatten(0, 1)
        y = torch.softmax(logits, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(windows, positions, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, side, heads, window, shift):
        super().__init__()
        self.window, self.shift = window, shift
        self.register_buffer("attn_mask", roll_mask(side, window, shift) if shift else None)
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, window)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def attend(self, x):
        side, shift = x.size(1), self.shift
        if shift:
            x = x.roll((-shift, -shift), dims=(1, 2))
        y = join(self.attn(cut(x, self.window), self.attn_mask), self.window, side)
        return y.roll((shift, shift), dims=(1, 2)) if shift else y

    def forward(self, x):
        x = x + self.norm1(self.attend(x))
        return x + self.norm2(self.mlp(x))


class Merge(nn.Module):
    """2x2 neighbours become one position with twice the channels."""

    def __init__(self, width):
        super().__init__()
        self.reduction = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(2 * width)

    def forward(self, x):
        neighbours = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.norm(self.reduction(torch.cat(neighbours, dim=-1)))


class Stage(nn.Module):
    def __init__(self, width, side, depth, heads, window, last):
        super().__init__()
        window = min(window, side)
        step = window // 2 if side > window else 0
        self.blocks = nn.Sequential(*(Block(width, side, heads, window, step * (i % 2)) for i in range(depth)))
        self.downsample = nn.Identity() if last else Merge(width)

    def forward(self, x):
        return self.downsample(self.blocks(x))


class PatchEmbed(nn.Module):
    def __init__(self, channels, patch, width):
        super().__init__()
        self.proj = nn.Conv2d(channels, width, kernel_size=patch, stride=patch)
        self.norm = nn.LayerNorm(width)

    def forward(self, image):
        return self.norm(self.proj(image).permute(0, 2, 3, 1))


class Model(nn.Module):
    def __init__(self, image=224, patch=4, channels=3, classes=1000, width=96, depths=(2, 2, 6, 2),
                 heads=(3, 6, 12, 24), window=7):
        super().__init__()
        last = len(depths) - 1
        self.patch_embed = PatchEmbed(channels, patch, width)
        self.layers = nn.Sequential(*(
            Stage(width << i, image // patch >> i, depths[i], heads[i], window, i == last) for i in range(last + 1)))
        self.norm = nn.LayerNorm(width << last)
        self.head = nn.Linear(width << last, classes)

    def forward(self, image):
        x = self.norm(self.layers(self.patch_embed(image)))
        return self.head(x.mean(dim=(1, 2)))


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return ARGUMENTS
