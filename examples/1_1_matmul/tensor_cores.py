"""Matrix product on the tensor cores, with operands in fp16.

Teaches: too imprecise, and why it tempts. Tensor cores multiply fp16 ten times as fast as the other units multiply
fp32, the sums are fp32, and the result looks right: on numbers in [0, 1) the errors of 4,096 products average out to 6
parts in a million. On numbers around 0 the products cancel and the errors do not: 3 in ten thousand are left.
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl

TILE, DEPTH = 128, 32


@triton.jit
def multiply(a, b, c, n, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = (tl.program_id(0) * TILE + tl.arange(0, TILE))[:, None]
    columns = (tl.program_id(1) * TILE + tl.arange(0, TILE))[None, :]
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, n, DEPTH):
        across, down = (k + tl.arange(0, DEPTH))[None, :], (k + tl.arange(0, DEPTH))[:, None]
        left = tl.load(a + rows * n + across, mask=(rows < n) & (across < n), other=0.0)
        right = tl.load(b + down * n + columns, mask=(down < n) & (columns < n), other=0.0)
        total = tl.dot(left.to(tl.float16), right.to(tl.float16), total)
    tl.store(c + rows * n + columns, total, mask=(rows < n) & (columns < n))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        tiles = triton.cdiv(len(a), TILE)
        multiply[(tiles, tiles)](a, b, c, len(a), TILE=TILE, DEPTH=DEPTH, num_warps=8)
        return c
