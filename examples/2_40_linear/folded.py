"""Linear layer, scaling and residual as one call of the library.

Teaches: look at the algebra first. SCALE * z + z is (SCALE + 1) * z, and `torch.addmm` multiplies its product and its
addend by factors of its own at no cost. Three passes over the output disappear without a line of C++. The work is still
the library's: authorship will say so.
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.factor = 1.0 + scaling_factor

    def forward(self, x):
        weight, bias = self.matmul.weight, self.matmul.bias
        return torch.addmm(bias, x, weight.t(), beta=self.factor, alpha=self.factor)
