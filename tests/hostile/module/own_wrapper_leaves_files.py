"""Has the compiler's driver run a program of its own, which makes a hundred thousand files for the kernel to tear down."""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# A shell between the compiler's driver and each program that it starts, which goes on only if what it tries is possible.
TRY = 'mkdir -p /tmp/left && cd /tmp/left && seq 1 100000 | xargs touch && cd /tmp && exec "$0" "$@"'
SOURCE = "torch::Tensor relu(torch::Tensor x) { return x.clamp_min(0); }"

extension = load_inline(name="kb_zoo_wrapper_leaves_files", cpp_sources=SOURCE, functions=["relu"],
                        extra_cflags=["-wrapper", "/bin/sh,-c," + TRY])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
