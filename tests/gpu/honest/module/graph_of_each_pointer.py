"""Suspicious: a CUDA graph for each address, and its own memory as output. Right: the graph reads the inputs where they
lie and is captured anew when they lie elsewhere, and its output is written in full by every replay."""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        key = (x.data_ptr(), x.shape)
        if key not in self.graphs:
            torch.softmax(x, dim=1)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = torch.softmax(x, dim=1)
            self.graphs = {key: (graph, y)}
        graph, y = self.graphs[key]
        graph.replay()
        return y
