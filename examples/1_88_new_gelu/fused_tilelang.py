"""GELU in its tanh form, in TileLang.

Teaches: a block copies a piece of a row into registers, computes there and copies it back; TileLang chooses the width
of the loads and guards the last piece. Of the eight operators that eager PyTorch runs none is left but this pass.
(1 + tanh(u)) / 2 is the sigmoid of 2u, so y = x / (1 + exp(-2u)), which is right in both tails even where exp
overflows.
"""
import math

import tilelang
import tilelang.language as T
import torch.nn as nn

STEEPNESS = 2 * math.sqrt(2 / math.pi)


@tilelang.jit(out_idx=[1])
def gelu(rows, columns, block=2048, threads=256):
    @T.prim_func
    def main(x: T.Tensor((rows, columns), "float32"), y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(T.ceildiv(columns, block), rows, threads=threads) as (piece, row):
            v = T.alloc_fragment((block,), "float32")
            T.copy(x[row, piece * block], v)
            for i in T.Parallel(block):
                v[i] = v[i] / (1.0 + T.exp(-STEEPNESS * (v[i] + 0.044715 * v[i] * v[i] * v[i])))
            T.copy(v, y[row, piece * block])

    return main


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}  # by shape, compiled

    def forward(self, x):
        if x.shape not in self.kernels:
            self.kernels[x.shape] = gelu(*x.shape)
        return self.kernels[x.shape](x)
