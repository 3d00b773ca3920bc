"""GELU in its tanh form, in CuTe's Python form.

Teaches: a layout says which elements a thread takes. Dividing the tensor into groups of four gives each thread one
16-byte load and store, and arithmetic on the four at once; promising the alignment is what allows them. Of the eight
operators that eager PyTorch runs none is left but this pass. (1 + tanh(u)) / 2 is the sigmoid of 2u, so
y = x / (1 + exp(-2u)), which is right in both tails even where exp overflows.
"""
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

STEEPNESS = 2 * math.sqrt(2 / math.pi)
THREADS = 256


@cute.kernel
def gelu(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    group = block * THREADS + thread
    if group < cute.size(x, mode=[1]):
        v = x[(None, group)].load()
        y[(None, group)].store(v / (1.0 + cute.math.exp(-STEEPNESS * (v + 0.044715 * v * v * v))))


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, width: cutlass.Constexpr, stream: cuda.CUstream):
    x, y = cute.zipped_divide(x, (width,)), cute.zipped_divide(y, (width,))
    blocks = cute.ceil_div(cute.size(x, mode=[1]), THREADS)
    gelu(x, y).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1], stream=stream)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}  # by number of elements, compiled

    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        width = 4 if n % 4 == 0 else 1
        tensors = [from_dlpack(each.view(-1), assumed_align=4 * width) for each in (x, y)]
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        if n not in self.kernels:
            self.kernels[n] = cute.compile(launch, *tensors, width, stream)
        self.kernels[n](*tensors, stream)
        return y
