"""Self-attention among all pixels of an image, added to it and normalised.

With the pixels of a sample as a sequence of S = HEIGHT * WIDTH vectors x[s] of CHANNELS numbers, D = CHANNELS / HEADS,
and for each head:

    q, k, v = thirds of x W_in^T + b_in, cut into heads
    a[s, t] = softmax over t of ( q[s] . k[t] / sqrt(D) )
    z       = (a v, heads joined again) W_out^T + b_out
    y       = norm(z + x)

`norm` is layer normalisation over the channels, eps 1e-5. The S x S weights of attention need not be kept, although
`nn.MultiheadAttention`, asked as here, also averages them over the heads.

Input: image, (BATCH, CHANNELS, HEIGHT, WIDTH). Output: y, the same shape.
"""
import torch
import torch.nn as nn

BATCH = 2
CHANNELS = 128
HEIGHT = 128
WIDTH = 128
HEADS = 4

FAMILY = "attention"
SIZES = {
    "small": {"BATCH": 2, "CHANNELS": 64, "HEIGHT": 24, "WIDTH": 24},
    "odd": {"BATCH": 3, "CHANNELS": 55, "HEIGHT": 19, "WIDTH": 23, "HEADS": 5},
}
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(embed_dim, num_heads)
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, image):
        pixels = image.flatten(2).permute(2, 0, 1)  # (S, BATCH, CHANNELS)
        attended, _ = self.attn(pixels, pixels, pixels)
        y = self.norm(attended + pixels)
        return y.permute(1, 2, 0).view(image.shape)


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, HEADS]
