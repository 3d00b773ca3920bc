"""The last hidden states of all layers of a GRU.

Each layer, over x[0] ... x[SEQUENCE - 1], the first layer's from the input and the others' the h of the layer below:

    r = sigmoid( x[t] W_ir^T + b_ir + h[t - 1] W_hr^T + b_hr )
    z = sigmoid( x[t] W_iz^T + b_iz + h[t - 1] W_hz^T + b_hz )
    n = tanh( x[t] W_in^T + b_in + r * (h[t - 1] W_hn^T + b_hn) )
    h[t] = (1 - z) * n + z * h[t - 1]

weight_ih, weight_hh and the biases hold the rows of r, z and n in this order. h[-1] of layer l is h0[l].

Inputs: x, (SEQUENCE, BATCH, INPUT), and h0, (LAYERS, BATCH, HIDDEN).
Output: h[SEQUENCE - 1] of all layers, (LAYERS, BATCH, HIDDEN).
"""
import torch
import torch.nn as nn

BATCH = 10
SEQUENCE = 512
INPUT = 128
HIDDEN = 256
LAYERS = 6

FAMILY = "recurrent"
# Each step halves what is left of the first states: only short sequences show a candidate that drops them.
SIZES = {
    "small": {"SEQUENCE": 8},
    "odd": {"BATCH": 7, "SEQUENCE": 11, "INPUT": 123, "HIDDEN": 251, "LAYERS": 5},
}
# Not "scaled": at the standard size fp32 is then further from fp64 than a tenth of a standard deviation.
DISTRIBUTIONS = ("centred", "sparse", "structured")
UNSCORED = "at the standard size the first states are forgotten: h0 does not matter"


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers)

    def forward(self, x, h0):
        _, last = self.gru(x, h0)
        return last


def get_inputs():
    return [torch.rand(SEQUENCE, BATCH, INPUT), torch.rand(LAYERS, BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUT, HIDDEN, LAYERS]
