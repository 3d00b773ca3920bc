"""Works on a stream of its own and joins it nowhere, so that events on the current stream see nothing. The runner waits
for the whole device, and the judge's clock runs until then: slow, and right. Where an output is copied before, it is
copied before it was written."""
import torch
import torch.nn as nn

from inline_source import extension


class ModelNew(nn.Module):
    stream = 0

    def forward(self, x):
        self.stream = self.stream or extension.new_stream()
        y = torch.empty_like(x)
        extension.spin(20_000_000, self.stream)
        extension.relu(x, y, x.numel(), self.stream)
        return y
