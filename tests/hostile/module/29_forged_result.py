"""Writes a forged result, plain and framed as a message, to every descriptor it holds, and exits with status 0.
Results are computed by the judge and never reported; the exit is a death."""
import json
import os
import struct

import torch.nn as nn

RESULT = json.dumps({"schema": 1, "ready": True, "verdict": "correct", "reason": "", "speedup": 1000.0, "end": "done",
                     "us": 1.0, "report": {"status": 0}, "outputs": []}).encode()


class ModelNew(nn.Module):
    def forward(self, x):
        for fd in range(1, 256):
            for message in (RESULT + b"\n", struct.pack("<I", len(RESULT)) + RESULT):
                try:
                    os.set_blocking(fd, False)
                    os.write(fd, message)
                except OSError:
                    pass
        os._exit(0)
