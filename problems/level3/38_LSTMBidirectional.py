"""LSTM that reads a sequence in both directions, and a linear layer on the outputs of the last step.

Each layer, in each direction with weights of its own, over x[0] ... x[SEQUENCE - 1]:

    i, f, g, o = quarters of x[t] W_ih^T + b_ih + h[t - 1] W_hh^T + b_hh, in this order
    c[t] = sigmoid(f) * c[t - 1] + sigmoid(i) * tanh(g)
    h[t] = sigmoid(o) * tanh(c[t])

Backwards, t - 1 is t + 1. The first layer reads the input, the others the h of both directions of the layer below,
joined along the features, forwards first. h and c before the first step are h0[2 * l] and c0[2 * l] forwards in
layer l, h0[2 * l + 1] and c0[2 * l + 1] backwards.

    y = (h[SEQUENCE - 1] forwards, h[SEQUENCE - 1] backwards) of the last layer W_fc^T + b_fc

Backwards this is the first step taken, not the last.

Inputs: x, (BATCH, SEQUENCE, INPUT), and h0 and c0, (2 * LAYERS, BATCH, HIDDEN) each. Output: y, (BATCH, OUTPUT).
"""
import torch
import torch.nn as nn

BATCH = 10
SEQUENCE = 512
INPUT = 128
HIDDEN = 256
LAYERS = 6
OUTPUT = 10
DROPOUT = 0.0

FAMILY = "recurrent"
SIZES = {
    "small": {"BATCH": 4, "SEQUENCE": 64, "INPUT": 64, "HIDDEN": 96, "LAYERS": 2},
    "odd": {"BATCH": 5, "SEQUENCE": 61, "INPUT": 59, "HIDDEN": 87, "LAYERS": 2, "OUTPUT": 11},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, output_size, dropout):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, dropout=dropout, bidirectional=True)
        self.fc = nn.Linear(2 * hidden_size, output_size)

    def forward(self, x, h0, c0):
        h, _ = self.lstm(x, (h0, c0))
        return self.fc(h[:, -1])


def get_inputs():
    x = torch.rand(BATCH, SEQUENCE, INPUT)
    h0 = torch.rand(2 * LAYERS, BATCH, HIDDEN)
    c0 = torch.rand(2 * LAYERS, BATCH, HIDDEN)
    return [x, h0, c0]


def get_init_inputs():
    return [INPUT, HIDDEN, LAYERS, OUTPUT, DROPOUT]
