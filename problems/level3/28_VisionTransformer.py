"""Vision transformer whose attention runs across the batch.

With n = IMAGE / PATCH tiles along each side:

    rows   = the CHANNELS * n * n tiles of a sample, all of channel 0 first, cut into n * n rows of CHANNELS tiles
    tokens = (class token, rows W^T + b) + position embedding                       (BATCH, n * n + 1, WIDTH)
    tokens = DEPTH times: t = norm(t + attention(t)); t = norm(t + W2 relu(W1 t + b1) + b2)
    logits = W2' gelu(W1' token 0 + b1') + b2'

A row thus holds neighbouring tiles, mostly of one channel, not one tile of every channel. The encoder takes the first
axis for the sequence: at each position the samples of the batch attend to one another, and no position sees another.
Only token 0 is read, which starts as the same sum of parameters in every sample: the logits are equal for all samples
and do not depend on the image. gelu is the exact one (erf), norm is layer normalisation with eps 1e-5, attention is
`nn.MultiheadAttention` with HEADS heads; all encoder layers start with equal weights.

Input: image, (BATCH, CHANNELS, IMAGE, IMAGE). Output: logits, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn

BATCH = 2
CHANNELS = 3
IMAGE = 224
PATCH = 16
CLASSES = 10
WIDTH = 512
DEPTH = 6
HEADS = 8
HIDDEN = 2048
DROPOUT = 0.0

FAMILY = "transformer"
COLLAPSES = "the logits depend on token 0 alone, which no image reaches: attention runs across the batch"
UNSCORED = "the logits do not depend on the image"
SIZES = {
    "small": {"BATCH": 2, "IMAGE": 96, "WIDTH": 128, "DEPTH": 3, "HEADS": 4, "HIDDEN": 512},
    "odd": {"BATCH": 3, "IMAGE": 105, "PATCH": 15, "CLASSES": 11, "WIDTH": 115, "DEPTH": 3, "HEADS": 5, "HIDDEN": 453},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, channels, dropout, emb_dropout):
        super().__init__()
        self.patch_size = patch_size
        self.row_length = channels * patch_size ** 2
        rows = (image_size // patch_size) ** 2
        self.pos_embedding = nn.Parameter(torch.randn(1, rows + 1, dim))
        self.patch_to_embedding = nn.Linear(self.row_length, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.dropout = nn.Dropout(emb_dropout)
        layer = nn.TransformerEncoderLayer(dim, heads, mlp_dim, dropout)
        self.transformer = nn.TransformerEncoder(layer, depth)
        self.mlp_head = nn.Sequential(
            nn.Linear(dim, mlp_dim),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(mlp_dim, num_classes),
        )

    def forward(self, image):
        batch, side = image.size(0), self.patch_size
        tiles = image.unfold(2, side, side).unfold(3, side, side)
        rows = self.patch_to_embedding(tiles.reshape(batch, -1, self.row_length))
        tokens = torch.cat((self.cls_token.expand(batch, -1, -1), rows), dim=1)
        tokens = self.transformer(self.dropout(tokens + self.pos_embedding))
        return self.mlp_head(tokens[:, 0])


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, IMAGE, IMAGE)]


def get_init_inputs():
    return [IMAGE, PATCH, CLASSES, WIDTH, DEPTH, HEADS, HIDDEN, CHANNELS, DROPOUT, DROPOUT]
