"""The last hidden states of all layers of an LSTM.

Each layer, over x[0] ... x[SEQUENCE - 1], the first layer's from the input and the others' the h of the layer below:

    i, f, g, o = quarters of x[t] W_ih^T + b_ih + h[t - 1] W_hh^T + b_hh, in this order
    c[t] = sigmoid(f) * c[t - 1] + sigmoid(i) * tanh(g)
    h[t] = sigmoid(o) * tanh(c[t])

h[-1] and c[-1] of layer l are h0[l] and c0[l]. The linear layer `fc` is held but not used.

Inputs: x, (BATCH, SEQUENCE, INPUT), and h0 and c0, (LAYERS, BATCH, HIDDEN) each.
Output: h[SEQUENCE - 1] of all layers, (LAYERS, BATCH, HIDDEN).
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
# Each step halves what is left of the first states: only short sequences show a candidate that drops them.
SIZES = {
    "small": {"SEQUENCE": 8},
    "odd": {"BATCH": 7, "SEQUENCE": 11, "INPUT": 123, "HIDDEN": 251, "LAYERS": 5, "OUTPUT": 11},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
UNSCORED = "at the standard size the first states are forgotten: h0 and c0 do not matter"


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, output_size, dropout):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, dropout=dropout)
        self.fc = nn.Linear(hidden_size, output_size)

    def forward(self, x, h0, c0):
        _, (h, _) = self.lstm(x, (h0, c0))
        return h


def get_inputs():
    x = torch.rand(BATCH, SEQUENCE, INPUT)
    h0 = torch.rand(LAYERS, BATCH, HIDDEN)
    c0 = torch.rand(LAYERS, BATCH, HIDDEN)
    return [x, h0, c0]


def get_init_inputs():
    return [INPUT, HIDDEN, LAYERS, OUTPUT, DROPOUT]
