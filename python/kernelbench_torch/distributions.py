"""Input distributions that show what uniform numbers in [0, 1) hide. Only floating-point inputs change."""

import torch


def _centred(x):
    return x - x.mean()


def _scaled(x):
    """Far enough from 0 that exp() overflows where nobody subtracts the maximum."""
    return 256 * (x - x.mean())


def _sparse(x):
    return (x - x.mean()) * (torch.rand(x.shape, device=x.device) < 0.1)


def _structured(x):
    """Signs alternate along memory: neighbours cancel, so sums keep only what precision leaves."""
    signs = 1 - 2 * (torch.arange(x.numel(), device=x.device) % 2)
    return x * signs.reshape(x.shape).to(x.dtype)


STRESS = {"centred": _centred, "scaled": _scaled, "sparse": _sparse, "structured": _structured}


def transform(name, tensors):
    """`tensors` under the named distribution."""
    return [STRESS[name](t).to(t.dtype) if t.is_floating_point() and t.numel() > 1 else t for t in tensors]
