"""Transformer over two tokens, one made from the whole image and one learned.

    z      = conv PATCH x PATCH with that stride, to EMBEDDING channels, bias included
    tokens = (cls_token, z flattened W^T + b)                                       (BATCH, 2, EMBEDDING)
    tokens = LAYERS times: t = norm(t + attention(t)); t = norm(t + W2 relu(W1 t + b1) + b2)
    logits = tokens[0] W_out^T + b_out

Attention is `nn.MultiheadAttention` with HEADS heads, between the two tokens of a sample; the hidden layer is
4 * EMBEDDING wide; norm is layer normalisation, eps 1e-5; there is no dropout.

Input: image, (BATCH, 3, IMAGE, IMAGE). Output: logits, (BATCH, CLASSES).
"""
import torch
import torch.nn as nn

BATCH = 10
IMAGE = 32
PATCH = 4
EMBEDDING = 128
HEADS = 4
LAYERS = 6
CLASSES = 1000

FAMILY = "transformer"
SIZES = {
    "small": {"BATCH": 4, "EMBEDDING": 64, "CLASSES": 100},
    "odd": {"BATCH": 7, "EMBEDDING": 85, "HEADS": 5, "CLASSES": 101},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, num_classes, embed_dim, num_heads):
        super().__init__()
        self.conv1 = nn.Conv2d(3, embed_dim, kernel_size=PATCH, stride=PATCH)
        self.linear_proj = nn.Linear(embed_dim * (IMAGE // PATCH) ** 2, embed_dim)
        self.transformer_layers = nn.ModuleList(
            nn.TransformerEncoderLayer(embed_dim, num_heads, 4 * embed_dim, dropout=0.0, batch_first=True)
            for _ in range(LAYERS)
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.fc_out = nn.Linear(embed_dim, num_classes)

    def forward(self, image):
        summary = self.linear_proj(self.conv1(image).flatten(1))
        tokens = torch.cat((self.cls_token.expand(image.size(0), -1, -1), summary.unsqueeze(1)), dim=1)
        for layer in self.transformer_layers:
            tokens = layer(tokens)
        return self.fc_out(tokens[:, 0])


def get_inputs():
    return [torch.rand(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs():
    return [CLASSES, EMBEDDING, HEADS]
