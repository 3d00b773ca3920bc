"""Plain recurrent network over a sequence, with an output at every step.

For t = 0 ... SEQUENCE - 1:

    h[t] = tanh( (x[t], h[t - 1]) W_i2h^T + b_i2h )         h[-1] is the input h0
    y[t] = h[t] W_h2o^T + b_h2o

Inputs: x, (SEQUENCE, BATCH, INPUT), and h0, (BATCH, HIDDEN). Output: y, (SEQUENCE, BATCH, OUTPUT).
"""
import torch
import torch.nn as nn

BATCH = 8
SEQUENCE = 256
INPUT = 1024
HIDDEN = 256
OUTPUT = 128

FAMILY = "recurrent"
SIZES = {
    "small": {"SEQUENCE": 64, "INPUT": 256},
    "odd": {"BATCH": 7, "SEQUENCE": 93, "INPUT": 243, "HIDDEN": 197, "OUTPUT": 101},
}
# "scaled" for the tails of tanh, where an exp of the argument overflows.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, x, h0):
        h, y = h0, []
        for x_t in x:
            h = torch.tanh(self.i2h(torch.cat((x_t, h), dim=1)))
            y.append(self.h2o(h))
        return torch.stack(y)


def get_inputs():
    return [torch.rand(SEQUENCE, BATCH, INPUT), torch.rand(BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUT, HIDDEN, OUTPUT]
