"""ReLU in TileLang that forgets the last piece: nobody writes it."""
import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@tilelang.jit
def relu(n, block=2048, threads=256):
    @T.prim_func
    def main(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block) - 1, threads=threads) as piece:
            for i in T.Parallel(block):
                y[piece * block + i] = T.max(x[piece * block + i], 0.0)

    return main


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu(x.numel())(x.view(-1), y.view(-1))
        return y
