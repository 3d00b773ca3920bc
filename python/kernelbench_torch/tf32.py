"""Convolutions in TF32, whatever algorithm cuDNN takes.

PyTorch lets cuDNN take TF32 for convolutions of fp32 tensors (`torch.backends.cudnn.allow_tf32`, on by default), and cuDNN does where
that is faster: by rule for the reference, and by trying for a candidate that sets `benchmark`, so that it differs from one process
to the next. What the reference may do at its own settings, its candidates may do too. So an error budget knows both.
"""

import torch
from torch.overrides import TorchFunctionMode

_CUT = ~0x1FFF  # the 13 bits of a mantissa of 23 that TF32 has not, which a tensor core leaves out
_CONVOLUTIONS = {torch.convolution, torch.conv1d, torch.conv2d, torch.conv3d,
                 torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d}


def cut(tensor):
    """An fp32 tensor with the mantissas of TF32."""
    return tensor.contiguous().view(torch.int32).bitwise_and(_CUT).view(torch.float32).view(tensor.shape)


def is_allowed(device):
    """Whether a convolution of fp32 tensors may be one in TF32 here."""
    return device != "cpu" and torch.backends.cudnn.allow_tf32 and torch.cuda.get_device_capability()[0] >= 8


class InTf32(TorchFunctionMode):
    """While it is entered, convolutions of fp32 tensors take operands that are cut: products of those are exact in fp32.
    `met`: there was one. (A mode of the dispatcher would see more, but its first use takes seconds of imports.)"""

    met = False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function in _CONVOLUTIONS:
            operands = [*args[:2], *(kwargs[name] for name in ("input", "weight") if name in kwargs)]
            if all(t.dtype == torch.float32 for t in operands):
                self.met = True
                args = (*map(cut, args[:2]), *args[2:])
                kwargs.update({name: cut(kwargs[name]) for name in ("input", "weight") if name in kwargs})
        return function(*args, **kwargs)
