"""Suspicious: atomic additions into an output that is zeroed first. Right: every block adds the part of the sum that it
has computed, in full precision."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(tl.program_id(2) * BLOCK, n, PARTS * BLOCK):
        across, down = k + tl.arange(0, BLOCK)[None, :], k + tl.arange(0, BLOCK)[:, None]
        left = tl.load(a + rows * n + across, mask=(rows < n) & (across < n), other=0.0)
        right = tl.load(b + down * n + columns, mask=(down < n) & (columns < n), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.atomic_add(c + rows * n + columns, total, mask=(rows < n) & (columns < n))


class ModelNew(nn.Module):
    def forward(self, a, b):
        n, c = a.shape[0], torch.zeros_like(a)
        product[(triton.cdiv(n, 32), triton.cdiv(n, 32), 4)](a, b, c, n, PARTS=4, BLOCK=32)
        return c
