"""Has a flag of so many quotes that a shell's command around it would be longer than a program may be told."""
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

extension = load_inline(name="kb_zoo_quotes", cpp_sources="int nothing = VALUE;", no_implicit_headers=True,
                        extra_cflags=["-DVALUE=" + "'" * 32000])


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp_min(0)
