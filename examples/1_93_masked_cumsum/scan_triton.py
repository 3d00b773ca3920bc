"""Running sums over the elements that a mask selects, in Triton.

Teaches: masking costs nothing where the element is in a register anyway. Eager PyTorch writes the product of x and mask
to memory and reads it back. A program here is one warp and takes one row, 1,024 elements at a time: `tl.cumsum` then
needs no shared memory and no barrier, and the other warps of a multiprocessor, each with a row of its own, keep memory
busy while this one adds.
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x, mask, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    before = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        selected = tl.load(mask + row + at, mask=at < columns, other=0)
        value = tl.load(x + row + at, mask=at < columns, other=0.0)
        value = tl.where(selected, value, 0.0)
        tl.store(y + row + at, before + tl.cumsum(value, axis=0), mask=at < columns)
        before += tl.sum(value, axis=0)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1

    def forward(self, x, mask):
        y = torch.empty_like(x)
        rows, columns = x.shape
        scan[(rows,)](x, mask, y, columns, BLOCK=1024, num_warps=1)
        return y
