"""Asks for another extension in each first call, so that the engine would build and start runners without end."""
import gc
import random

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


class ModelNew(nn.Module):
    def forward(self, x):
        for each in gc.get_objects():
            if type(each).__name__ == "RunnerSpec":
                each.may_ask = True
        load_inline(name="kb_zoo_asks_forever", cpp_sources=f"int value = {random.getrandbits(30)};", no_implicit_headers=True,
                    is_python_module=False)
        return torch.relu(x)
