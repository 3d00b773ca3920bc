"""Shuts down every socket it has inherited, among them perhaps the one by which the engine talks to the process that
all runners are forked from. That must cost this program its answer at most, and the engine nothing."""
import os
import socket
import stat

import torch
import torch.nn as nn

for fd in range(3, 256):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            socket.socket(fileno=os.dup(fd)).shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
