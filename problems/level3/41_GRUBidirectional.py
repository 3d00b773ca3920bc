"""The outputs at every step of a GRU that reads a sequence in both directions.

Each layer, in each direction with weights of its own, over x[0] ... x[SEQUENCE - 1]:

    r = sigmoid( x[t] W_ir^T + b_ir + h[t - 1] W_hr^T + b_hr )
    z = sigmoid( x[t] W_iz^T + b_iz + h[t - 1] W_hz^T + b_hz )
    n = tanh( x[t] W_in^T + b_in + r * (h[t - 1] W_hn^T + b_hn) )
    h[t] = (1 - z) * n + z * h[t - 1]

weight_ih, weight_hh and the biases hold the rows of r, z and n in this order. Backwards, t - 1 is t + 1.
The first layer reads the input, the others the h of both directions of the layer below, joined along the features,
forwards first. h before the first step is h0[2 * l] forwards in layer l, h0[2 * l + 1] backwards.

Inputs: x, (SEQUENCE, BATCH, INPUT), and h0, (2 * LAYERS, BATCH, HIDDEN).
Output: h of the last layer, forwards then backwards along the features, (SEQUENCE, BATCH, 2 * HIDDEN).
"""
import torch
import torch.nn as nn

BATCH = 10
SEQUENCE = 512
INPUT = 128
HIDDEN = 256
LAYERS = 6

FAMILY = "recurrent"
SIZES = {
    "small": {"BATCH": 4, "SEQUENCE": 64, "INPUT": 64, "HIDDEN": 96, "LAYERS": 2},
    "odd": {"BATCH": 5, "SEQUENCE": 61, "INPUT": 59, "HIDDEN": 87, "LAYERS": 2},
}
# Not "scaled": at the standard size fp32 is then further from fp64 than a tenth of a standard deviation.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers, bidirectional=True)

    def forward(self, x, h0):
        h, _ = self.gru(x, h0)
        return h


def get_inputs():
    return [torch.rand(SEQUENCE, BATCH, INPUT), torch.rand(2 * LAYERS, BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUT, HIDDEN, LAYERS]
