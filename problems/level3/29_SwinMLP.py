"""Swin MLP, a classifier of images that mixes positions by learned matrices within windows.

A block works on x of (batch, side, side, width), in windows of w by w positions, w = 7:

    x = x + mix(norm(x))
    x = x + W2 gelu(W1 norm(x) + b1) + b2                                   hidden width 4 * width
    mix: for each window and each head (a head is width / heads neighbouring channels)
         y[p, c] = sum over the window's positions q of M[head][p, q] * x[q, c] + b[head][p]

Every second block of a stage shifts its windows by s = w // 2: the map is padded with zeros, w - s in front and s
behind along both axes, cut into windows, mixed, and cropped again. A stage whose side is w has one window, no shift.

Network: conv 4x4 with stride 4 to 96 channels, norm; stages of 2, 2, 6, 2 blocks with 3, 6, 12, 24 heads; norm; mean
over all positions; linear. After each stage but the last, y = norm(x) W^T makes 2 * width channels of the 4 * width of
2x2 neighbours, which are taken in the order (0, 0), (1, 0), (0, 1), (1, 1) of (row, column). `norm` is layer
normalisation over the channels, eps 1e-5; gelu is the exact one (erf).

Input: image, (BATCH, 3, IMAGE, IMAGE). Output: logits, (BATCH, classes), 1000 of them at the standard size.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 10
IMAGE = 224
ARGUMENTS = []  # of the constructor; its defaults are the standard size

FAMILY = "mlp"
SIZES = {
    "small": {"BATCH": 2, "IMAGE": 112, "ARGUMENTS": [112, 4, 3, 100, 48, [2, 2, 2], [3, 6, 12], 7]},
    "odd": {"BATCH": 3, "IMAGE": 90, "ARGUMENTS": [90, 3, 3, 101, 57, [2, 3], [3, 6], 5]},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, heads, window, shift):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        positions = heads * window ** 2
        self.norm1 = nn.LayerNorm(width)
        self.spatial_mlp = nn.Conv1d(positions, positions, kernel_size=1, groups=heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def mix(self, x):
        front, behind, w = self.window - self.shift, self.shift, self.window
        if self.shift:
            x = F.pad(x, (0, 0, front, behind, front, behind))
        batch, side, _, width = x.shape
        tiles, depth = side // w, width // self.heads

        x = x.view(batch, tiles, w, tiles, w, self.heads, depth).permute(0, 1, 3, 5, 2, 4, 6)
        x = self.spatial_mlp(x.reshape(-1, self.heads * w * w, depth))
        x = x.view(batch, tiles, tiles, self.heads, w, w, depth).permute(0, 1, 4, 2, 5, 3, 6)
        x = x.reshape(batch, side, side, width)
        return x[:, front:-behind, front:-behind] if self.shift else x

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Merge(nn.Module):
    """2x2 neighbours become one position with twice the channels."""

    def __init__(self, width):
        super().__init__()
        self.reduction = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(4 * width)

    def forward(self, x):
        neighbours = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduction(self.norm(torch.cat(neighbours, dim=-1)))


class Stage(nn.Module):
    def __init__(self, width, side, depth, heads, window, last):
        super().__init__()
        window = min(window, side)
        step = window // 2 if side > window else 0
        self.blocks = nn.Sequential(*(Block(width, heads, window, step * (i % 2)) for i in range(depth)))
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
