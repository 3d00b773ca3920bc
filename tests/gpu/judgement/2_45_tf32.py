"""2/45 with its linear layers in TF32: wrong, though all answers are far from 0 and close to each other."""
import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.linear1 = nn.Linear(input_size, hidden_size)
        self.linear2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        return torch.logsumexp(self.linear2(torch.sigmoid(self.linear1(x))), dim=1)
