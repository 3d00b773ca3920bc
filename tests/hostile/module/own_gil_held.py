"""Leaves a thread behind that never lets go of the interpreter's lock, so that the runner cannot answer. That is a
call that does not end, and it has a limit."""
import ctypes
import threading

import torch
import torch.nn as nn

libc = ctypes.PyDLL(None)  # PyDLL, unlike CDLL, keeps the lock


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls == 4:
            threading.Thread(target=libc.pause, daemon=True).start()
        return torch.relu(x)
