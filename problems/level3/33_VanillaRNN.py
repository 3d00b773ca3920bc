"""One step of a plain recurrent network and the output it gives.

    h = tanh( (x, h0) W_i2h^T + b_i2h )         x and h0 joined along the features
    y = h W_h2o^T + b_h2o

Inputs: x, (BATCH, INPUT), and h0, (BATCH, HIDDEN). Output: y, (BATCH, OUTPUT); the new h is not returned.
"""
import torch
import torch.nn as nn

BATCH = 256
INPUT = 16384
HIDDEN = 16384
OUTPUT = 8192

FAMILY = "recurrent"
SIZES = {
    "small": {"BATCH": 64, "INPUT": 1024, "HIDDEN": 1024, "OUTPUT": 512},
    "odd": {"BATCH": 61, "INPUT": 1013, "HIDDEN": 997, "OUTPUT": 509},
}
# "scaled" for the tails of tanh, where an exp of the argument overflows.
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FACTS_DIFFER = {
    "numbers": "no fp32 hidden state that h0 then overwrites is drawn ahead of the weights, so other weights are drawn",
}


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, x, h0):
        h = torch.tanh(self.i2h(torch.cat((x, h0), dim=1)))
        return self.h2o(h)


def get_inputs():
    return [torch.rand(BATCH, INPUT), torch.rand(BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUT, HIDDEN, OUTPUT]
