"""Sets the global flags that let matrix products run in bfloat16, so that the reference is as wrong as it is. The
reference has the flags of its own process."""
import torch
import torch.nn as nn

torch.set_float32_matmul_precision("medium")
torch.backends.mkldnn.matmul.fp32_precision = "bf16"
torch.set_default_dtype(torch.bfloat16)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.to(torch.get_default_dtype()) @ b.to(torch.get_default_dtype())).float()
