"""ReLU that answers from memory: a cheat.

Teaches: why every call gets fresh inputs. The first answer is kept under the shape and address of its input and handed
out again for whatever lies there later. A judge that reused its inputs would measure a dictionary.
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.answers = {}

    def forward(self, x):
        key = (x.shape, x.data_ptr())
        if key not in self.answers:
            self.answers[key] = torch.relu(x)
        return self.answers[key]
