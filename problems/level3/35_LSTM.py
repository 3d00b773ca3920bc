"""LSTM of several layers that starts from random states, and a linear layer on its last output.

Each layer, over x[0] ... x[SEQUENCE - 1], the first layer's from the input and the others' the h of the layer below:

    i, f, g, o = quarters of x[t] W_ih^T + b_ih + h[t - 1] W_hh^T + b_hh, in this order
    c[t] = sigmoid(f) * c[t - 1] + sigmoid(i) * tanh(g)
    h[t] = sigmoid(o) * tanh(c[t])

    y = h[SEQUENCE - 1] of the last layer W_fc^T + b_fc

Before the first step h and c of all layers are drawn from a normal distribution in every call, h first.

With PyTorch's weights and uniform inputs six layers let hardly anything of the input through: y is the same for every
sample to three digits. Here weight_ih and weight_hh are twice as large, and each feature of each sample has a
brightness of its own, so that y depends on the input.

Input: x, (BATCH, SEQUENCE, INPUT). Output: y, (BATCH, OUTPUT).
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
NEEDS_TORCH_RNG = True
SIZES = {
    "small": {"BATCH": 4, "SEQUENCE": 96, "INPUT": 64, "HIDDEN": 96, "LAYERS": 3},
    "odd": {"BATCH": 5, "SEQUENCE": 93, "INPUT": 61, "HIDDEN": 87, "LAYERS": 3, "OUTPUT": 11},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FACTS_DIFFER = {
    "numbers": "the lstm's weights are doubled and features differ in brightness; else y hardly depends on the input",
}


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, output_size, dropout):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, dropout=dropout)
        self.fc = nn.Linear(hidden_size, output_size)
        for name, parameter in self.lstm.named_parameters():
            if name.startswith("weight"):
                parameter.data.mul_(2)

    def forward(self, x):
        state = (self.lstm.num_layers, x.size(0), self.lstm.hidden_size)
        h0 = torch.randn(state, device=x.device).to(x.dtype)
        c0 = torch.randn(state, device=x.device).to(x.dtype)
        h, _ = self.lstm(x, (h0, c0))
        return self.fc(h[:, -1])


def get_inputs():
    brightness = torch.randn(BATCH, 1, INPUT)
    return [torch.rand(BATCH, SEQUENCE, INPUT) + brightness]


def get_init_inputs():
    return [INPUT, HIDDEN, LAYERS, OUTPUT, DROPOUT]
