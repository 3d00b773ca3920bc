"""Says in the builder's process that its extension is called by a path, so that the runner cannot put it into a file."""
import sys

import torch.nn as nn
from torch.utils.cpp_extension import load_inline

extensions = sys.modules["kernelbench_torch.extensions"]
vars(extensions).update(key=lambda request: "../no/such/folder/" + "k" * 40)

extension = load_inline(name="kb_zoo_forged_key", cpp_sources="int nothing;", no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp_min(0)
