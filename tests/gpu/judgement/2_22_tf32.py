"""2/22 with its linear layer in TF32: wrong, though all answers are far from 0 and close to each other."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, scale_factor, clamp_min, clamp_max):
        super().__init__()
        self.matmul = nn.Linear(input_size, hidden_size)
        self.scale_factor = scale_factor
        self.clamp_min = clamp_min
        self.clamp_max = clamp_max

    def forward(self, x):
        z = self.matmul(x) * self.scale_factor
        total = torch.logsumexp(torch.clamp(z + z, self.clamp_min, self.clamp_max), dim=1, keepdim=True)
        return total * F.mish(total)
