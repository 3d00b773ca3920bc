"""Leaves copies on the device behind that go on while the baseline runs: the synchronize by which the runner waits is
replaced by one that waits for the current stream only. What the baseline took by itself bounds the speedup. Where
copies reach into the watch before its own next call, the device was used before the call, which is tampering."""
import torch
import torch.nn as nn

torch.cuda.synchronize = torch._C._cuda_synchronize = lambda *_: torch.cuda.current_stream().synchronize()


class ModelNew(nn.Module):
    side = None

    def forward(self, a, b):
        if self.side is None:
            self.side = torch.cuda.Stream()
            self.memory = torch.zeros(2, 1 << 30, dtype=torch.uint8, device=a.device)
        c = a @ b
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for _ in range(30):  # 15 ms or so
                self.memory[0].copy_(self.memory[1])
        return c
