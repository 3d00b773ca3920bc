"""Suspicious: a CUDA graph that is captured at the first call and replayed. Right: the inputs are copied to where it
reads them at every call, and the output is copied from where it writes."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    graph = None

    def capture(self, x):
        self.x = x.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.relu(self.x)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = torch.relu(self.x)

    def forward(self, x):
        if self.graph is None or self.x.shape != x.shape:
            self.capture(x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
