"""Works on a stream of its own and joins it nowhere. The runner waits for the whole device, and the judge's clock runs
until then: slow, and right. Where an output is copied before, it is copied before it was written."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    side = None

    def forward(self, x):
        if self.side is None:
            self.side = torch.cuda.Stream()
        y = torch.empty_like(x)
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(20_000_000)  # cycles: more than 10 ms
            torch.clamp(x, min=0, out=y)
        return y
