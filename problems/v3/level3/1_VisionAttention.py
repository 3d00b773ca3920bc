"""Self-attention among the pixels of an image, added to the image and normalised.

The pixels of a sample are S = HEIGHT * WIDTH vectors x[s] of EMBEDDING numbers. For each head, with
D = EMBEDDING / HEADS:

    q, k, v = the three thirds of x W_in^T + b_in, cut into heads
    a[s, t] = softmax over t of ( q[s] . k[t] / sqrt(D) )
    z       = (a v, heads joined again) W_out^T + b_out
    y       = norm(z + x)

norm is layer normalisation over the EMBEDDING numbers of a pixel, eps 1e-5. The two sequences are independent; the
S x S weights of attention are not asked for.

Input: image, (BATCH, EMBEDDING, HEIGHT, WIDTH). Output: y, the same shape.
"""
import torch
import torch.nn as nn

BATCH = 2
EMBEDDING = 128
HEIGHT = 128
WIDTH = 128
HEADS = 4

FAMILY = "attention"
SIZES = {
    "small": {"EMBEDDING": 64, "HEIGHT": 32, "WIDTH": 32},
    "odd": {"BATCH": 3, "EMBEDDING": 55, "HEIGHT": 27, "WIDTH": 31, "HEADS": 5},
}
# Not "scaled": the logits grow with the square of the input, and their softmax keeps only rounding errors.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(embed_dim, num_heads)
        self.norm = nn.LayerNorm(embed_dim)
        # By default attention is so even that it adds 2 % to a pixel, and an answer without it would be nearly right.
        nn.init.xavier_uniform_(self.attn.in_proj_weight, gain=2.0)

    def forward(self, image):
        pixels = image.flatten(2).permute(2, 0, 1)  # (S, BATCH, EMBEDDING)
        z, _ = self.attn(pixels, pixels, pixels, need_weights=False)
        y = self.norm(z + pixels)
        return y.permute(1, 2, 0).view_as(image)


def get_inputs():
    return [torch.randn(BATCH, EMBEDDING, HEIGHT, WIDTH)]


def get_init_inputs():
    return [EMBEDDING, HEADS]
