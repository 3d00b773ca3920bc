"""Reads keys, other candidates and the environment, and opens sockets to send them off. There is no network, no home
and no secret in reach; a single success makes the answer wrong, so that this test would notice."""
import glob
import os
import socket
import sys

import torch
import torch.nn as nn

loot = [name for name in os.environ if any(word in name for word in ("TOKEN", "KEY", "SECRET", "PASSWORD"))]
for pattern in ("/root/*", "/root/.ssh/*", "/home/*", "/etc/shadow", "/etc/passwd", "/var/*", "/tmp/**/*.cpp",
                "/proc/1/environ"):
    loot += [path for path in glob.glob(pattern) if not sys.prefix.startswith(path)]  # Python itself may live there
for address in (("127.0.0.1", 22), ("127.0.0.1", 80), ("10.0.0.1", 53), ("192.0.2.1", 80)):
    try:
        with socket.create_connection(address, timeout=0.2):
            loot.append(address)
    except OSError:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        if loot:
            raise RuntimeError(f"reached {loot}")
        return torch.relu(x)
