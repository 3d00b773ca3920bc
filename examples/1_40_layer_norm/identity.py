"""Layer normalisation that hands back a copy of its input.

Teaches: why it matters what a problem draws. On inputs that are normal already, as `randn` draws them, normalising a
million elements moves each by about a thousandth, and a copy passes for the answer. Uniform inputs leave no doubt.
"""
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape)

    def forward(self, x):
        return x.clone()
