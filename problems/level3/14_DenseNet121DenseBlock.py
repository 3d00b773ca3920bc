"""Dense block: each layer reads what all layers before it wrote, and adds GROWTH channels to it.

    x[0]     = x
    x[i + 1] = x[i] and conv[i](max(0, bn[i](x[i]))), one after the other along the channels
    y        = x[LAYERS]

conv[i], `layers.i.2`, is 3x3 with padding 1 and no bias.

    bn(z)[n, c] = (z[n, c] - mean[c]) / sqrt(variance[c] + 1e-5) * weight[c] + bias[c]

with mean and variance (divided by the count, not the count less 1) of channel c over this batch: the modules stay in
training mode. A channel's statistics are the same in every layer that reads it.

Input: x, (BATCH, IN_CHANNELS, HEIGHT, WIDTH). Output: y, (BATCH, IN_CHANNELS + LAYERS * GROWTH, HEIGHT, WIDTH).
"""
import torch
import torch.nn as nn

BATCH = 10
LAYERS = 6
IN_CHANNELS = 32
GROWTH = 32
HEIGHT = 224
WIDTH = 224

SIZES = {
    "small": {"BATCH": 2, "HEIGHT": 40, "WIDTH": 40},
    "odd": {"BATCH": 3, "LAYERS": 5, "IN_CHANNELS": 35, "GROWTH": 27, "HEIGHT": 37, "WIDTH": 29},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
FAMILY = "convolutional network"


def dense_layer(in_channels, growth):
    return nn.Sequential(
        nn.BatchNorm2d(in_channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(in_channels, growth, 3, padding=1, bias=False),
    )


class Model(nn.Module):
    def __init__(self, num_layers, in_channels, growth):
        super().__init__()
        self.layers = nn.ModuleList(dense_layer(in_channels + i * growth, growth) for i in range(num_layers))

    def forward(self, x):
        written = [x]
        for layer in self.layers:
            written.append(layer(x))
            x = torch.cat(written, dim=1)
        return x


def get_inputs():
    return [torch.rand(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [LAYERS, IN_CHANNELS, GROWTH]
