"""1/1 in TF32, which PyTorch does not use for matrix products unless it is asked to: wrong."""
import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
