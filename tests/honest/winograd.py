"""Suspicious: a convolution without one, in which no weight is used as it is. Right: Winograd's F(2x2, 3x3), whose
transforms take sums and halves in fp32, which costs a few more roundings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FROM_INPUT = torch.tensor([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], dtype=torch.float32)
FROM_WEIGHT = torch.tensor([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
TO_OUTPUT = torch.tensor([[1, 1, 1, 0], [0, 1, -1, -1]], dtype=torch.float32)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x):
        height, width = x.shape[2] - 2, x.shape[3] - 2
        tiles = F.pad(x, (0, width % 2, 0, height % 2)).unfold(2, 4, 2).unfold(3, 4, 2)  # n, c, rows, columns, 4, 4
        rows, columns = tiles.shape[2:4]
        data = FROM_INPUT @ tiles @ FROM_INPUT.T
        weight = FROM_WEIGHT @ self.conv2d.weight @ FROM_WEIGHT.T
        data = data.permute(4, 5, 1, 0, 2, 3).reshape(16, x.shape[1], -1)
        product = torch.bmm(weight.permute(2, 3, 0, 1).reshape(16, -1, x.shape[1]), data)  # one for each of 16 places
        product = product.reshape(4, 4, -1, x.shape[0], rows, columns).permute(3, 2, 4, 5, 0, 1)
        pairs = TO_OUTPUT @ product @ TO_OUTPUT.T  # n, o, rows, columns, 2, 2
        y = pairs.permute(0, 1, 2, 4, 3, 5).reshape(x.shape[0], -1, 2 * rows, 2 * columns)
        return y[:, :, :height, :width]
