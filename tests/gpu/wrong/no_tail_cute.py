"""ReLU in CuTe's Python form that forgets the last block: nobody writes it."""
import cuda.bindings.driver as cuda
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

THREADS = 256


@cute.kernel
def relu(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        y[i] = cute.arch.fmax(x[i], 0.0)


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, stream: cuda.CUstream):
    relu(x, y).launch(grid=[cute.ceil_div(cute.size(x), THREADS) - 1, 1, 1], block=[THREADS, 1, 1], stream=stream)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def forward(self, x):
        y = torch.empty_like(x)
        tensors = [from_dlpack(each.view(-1)) for each in (x, y)]
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        if x.numel() not in self.kernels:
            self.kernels[x.numel()] = cute.compile(launch, *tensors, stream)
        self.kernels[x.numel()](*tensors, stream)
        return y
