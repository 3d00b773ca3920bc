"""Large uniform tensors drawn on all cores: torch's own generator on the CPU is serial."""

import os

import torch
from torch.overrides import TorchFunctionMode


class ParallelUniform(TorchFunctionMode):
    """Inside, torch.rand(*size) in fp32 is filled by `fill(address, elements, seed)`, from fresh random bytes each time,
    as long as torch's generator was last seeded with `seed`: a problem that seeds it anew wants certain numbers.
    Everything else is left to torch."""

    _SMALL = 1 << 16  # elements; below, torch is as quick

    def __init__(self, fill, seed):
        super().__init__()
        self._fill, self._seed = fill, seed

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        plain = func is torch.rand and not kwargs and torch.get_default_dtype() == torch.float32
        if not plain or torch.initial_seed() != self._seed:
            return func(*args, **kwargs)
        tensor = torch.empty(*args)
        if tensor.numel() < self._SMALL or tensor.device.type != "cpu":
            return func(*args)
        self._fill(tensor.data_ptr(), tensor.numel(), int.from_bytes(os.urandom(8), "little"))
        return tensor
